// What plugins/documents.ts makes of docs/.
declare module 'virtual:documents' {
  interface Document {
    readonly name: string;
    readonly title: string;
    readonly lead: string;
    load(): Promise<{ readonly default: string }>;
  }
  const documents: readonly Document[];
  export default documents;
}
