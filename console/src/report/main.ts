// report.html: the run's document stands in the page; what stands there for readers without JavaScript makes room.
import { mount } from 'svelte';
import '../design/tokens.css';
import '../design/base.css';
import './page.css';
import type { ReportDocument } from './document.ts';
import Report from './Report.svelte';

const data = document.getElementById('document')?.textContent;
const plain = document.getElementById('plain');
if (data && plain) {
  const target = document.createElement('main');
  mount(Report, { target, props: { report: JSON.parse(data) as ReportDocument } });
  plain.replaceWith(target);
}
