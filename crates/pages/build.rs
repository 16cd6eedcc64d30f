//! Embeds anew what was built anew. The folder is there without the pages too; what is not there would count as changed.

fn main() {
    println!("cargo::rerun-if-changed=../../console/dist");
}
