//! Names in files of the test's own: no server is asked.

use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use tokio::net::TcpListener;

const HOSTS: &str = "10.0.0.1 db db.lan # the database\nfd00::1 both\n10.0.0.2 both\n";

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gauntlet-names-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("hosts"), HOSTS).unwrap();
        Self(folder)
    }

    /// A hosts file, and no file that names DNS servers.
    fn sources(&self) -> Sources {
        Sources::files(&self.0.join("resolv.conf"), &self.0.join("hosts"), 1)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The addresses of this host must be these in any order, or none.
#[track_caller]
fn check(sources: &Sources, host: &str, want: Option<&[&str]>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(look_up_in(sources, host));
    let mut want: Option<Vec<IpAddr>> = want.map(|want| want.iter().map(|text| text.parse().unwrap()).collect());
    let mut found = found.map_err(|error| assert!(error.to_string().contains(host), "{error}")).ok();
    want.iter_mut().chain(&mut found).for_each(|addresses| addresses.sort_unstable());
    assert_eq!(found, want, "{host}");
}

#[test]
fn names_of_the_hosts_file_and_literals_need_no_server() {
    let folder = Folder::new("hosts");
    let sources = folder.sources();
    check(&sources, "db", Some(&["10.0.0.1"]));
    check(&sources, "DB.lan", Some(&["10.0.0.1"]));
    check(&sources, "both", Some(&["10.0.0.2", "fd00::1"]));
    check(&sources, "192.0.2.7", Some(&["192.0.2.7"]));
    check(&sources, "::1", Some(&["::1"]));
    check(&sources, "[::1]", Some(&["::1"]));
    check(&sources, "nowhere", None);
}

#[test]
fn in_an_empty_root_localhost_is_both_loopbacks() {
    let empty = PathBuf::from("/nowhere");
    check(&Sources::files(&empty, &empty, 1), "localhost", Some(&["127.0.0.1", "::1"]));
}

#[test]
fn a_thread_that_drives_a_runtime_may_wait_as_well() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(async { look_up_blocking("localhost") }).unwrap();
    assert!(found.iter().all(IpAddr::is_loopback), "{found:?}");
}

#[track_caller]
fn check_split(address: &str, want: Option<(&str, u16)>) {
    assert_eq!(split(address), want, "{address:?}");
}

#[test]
fn an_address_is_a_host_and_a_port() {
    check_split("db:5432", Some(("db", 5432)));
    check_split("10.0.0.1:80", Some(("10.0.0.1", 80)));
    check_split("[::1]:80", Some(("[::1]", 80)));
    check_split("::1:80", None);
    check_split("db", None);
    check_split(":80", None);
    check_split("db:http", None);
}

#[tokio::test]
async fn the_second_address_is_tried_where_the_first_refuses() {
    // `localhost` is 127.0.0.1 and ::1: each of them alone must be found.
    for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        let Ok(listener) = TcpListener::bind((ip, 0)).await else { continue }; // a machine without IPv6
        let port = listener.local_addr().unwrap().port();
        let stream = connect(&format!("localhost:{port}")).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap().ip(), ip);
    }
}
