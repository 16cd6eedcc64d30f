//! Finds a process's control groups in the texts of /proc/self/mountinfo and /proc/self/cgroup; see
//! proc_pid_mountinfo(5) and cgroups(7). PURE. Does not check whether anything is there.

use std::path::{Path, PathBuf};

/// Which of the two interfaces a hierarchy has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// One hierarchy for each controller, or for a few together.
    V1,
    /// One hierarchy for all.
    V2,
}

/// The directory of this process's own group in a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnCgroup {
    pub(super) version: Version,
    pub(super) dir: PathBuf,
}

/// A mounted hierarchy.
struct Mount<'a> {
    version: Version,
    /// The part of the hierarchy that is mounted.
    root: PathBuf,
    point: PathBuf,
    options: &'a str,
}

/// The group of this process that governs a controller; if both interfaces are mounted, a controller belongs to the
/// first one exactly if a hierarchy of it names the controller. None if no hierarchy is mounted.
pub(super) fn find_own_cgroup(mountinfo: &str, cgroup: &str, controller: &str) -> Option<OwnCgroup> {
    let mounts: Vec<Mount<'_>> = mountinfo.lines().filter_map(Mount::parse).collect();
    let named = |mount: &&Mount<'_>| mount.version == Version::V1 && mount.options.split(',').any(|o| o == controller);
    let mount = mounts.iter().find(named).or_else(|| mounts.iter().find(|mount| mount.version == Version::V2))?;
    let dir = mount.below(cgroup_path(cgroup, mount.version, controller)?)?;
    Some(OwnCgroup { version: mount.version, dir })
}

/// The group of this process in the second interface, whichever controllers that has.
pub(super) fn unified(mountinfo: &str, cgroup: &str) -> Option<PathBuf> {
    let mount = mountinfo.lines().filter_map(Mount::parse).find(|mount| mount.version == Version::V2)?;
    mount.below(cgroup_path(cgroup, Version::V2, "")?)
}

/// A line of /proc/self/cgroup is `hierarchy:controllers:path`; that of the second interface is `0::path`.
fn cgroup_path<'a>(cgroup: &'a str, version: Version, controller: &str) -> Option<&'a str> {
    cgroup.lines().find_map(|line| {
        let (hierarchy, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = match version {
            Version::V1 => controllers.split(',').any(|one| one == controller),
            Version::V2 => hierarchy == "0" && controllers.is_empty(),
        };
        is_it.then_some(path)
    })
}

impl<'a> Mount<'a> {
    /// The directory of a group; none outside of the mounted part.
    fn below(&self, path: &str) -> Option<PathBuf> {
        let inside = Path::new(path).strip_prefix(&self.root).ok()?;
        let is_reached = !inside.components().any(|part| part == std::path::Component::ParentDir);
        is_reached.then(|| self.point.join(inside))
    }

    /// `id parent device root point options [optional ...] - type source options`.
    fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let version = match after.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let mut before = before.split(' ').skip(3);
        let (root, point) = (unescape(before.next()?), unescape(before.next()?));
        Some(Self { version, root, point, options: after.nth(1)? })
    }
}

/// The kernel writes white space and backslashes in paths as octal numbers.
fn unescape(path: &str) -> PathBuf {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    codes.iter().fold(path.to_owned(), |path, (code, character)| path.replace(code, character)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n";
    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    #[track_caller]
    fn check(mountinfo: &str, cgroup: &str, controller: &str, expected: Option<(Version, &str)>) {
        let expected = expected.map(|(version, dir)| OwnCgroup { version, dir: dir.into() });
        assert_eq!(find_own_cgroup(mountinfo, cgroup, controller), expected, "{controller}");
    }

    #[test]
    fn the_first_interface() {
        let cgroup = "4:memory:/box/7\n1:cpu,cpuacct:/\n0::/\n";
        check(V1, cgroup, "memory", Some((Version::V1, "/sys/fs/cgroup/memory/box/7")));
        check(V1, cgroup, "cpu", Some((Version::V1, "/sys/fs/cgroup/cpu,cpuacct/")));
        check(V1, cgroup, "pids", None);
        check(V1, "1:cpu,cpuacct:/\n", "memory", None);
    }

    #[test]
    fn the_second_interface() {
        let dir = "/sys/fs/cgroup/user.slice/run-1.scope";
        check(V2, "0::/user.slice/run-1.scope\n", "memory", Some((Version::V2, dir)));
        check(V2, "0::/\n", "cpu", Some((Version::V2, "/sys/fs/cgroup/")));
        check(V2, "4:memory:/box\n", "memory", None);
    }

    #[test]
    fn both_at_once() {
        let unified = V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ");
        let (mounts, cgroup) = (format!("{unified}{V1}"), "4:memory:/box\n0::/scope\n");
        check(&mounts, cgroup, "memory", Some((Version::V1, "/sys/fs/cgroup/memory/box")));
        check(&mounts, cgroup, "io", Some((Version::V2, "/sys/fs/cgroup/unified/scope")));
        assert_eq!(super::unified(&mounts, cgroup), Some("/sys/fs/cgroup/unified/scope".into()));
        assert_eq!(super::unified(V1, cgroup), None);
    }

    #[test]
    fn a_container_sees_its_own_part() {
        let inside = V2.replace(" / ", " /docker/abc ");
        check(&inside, "0::/docker/abc/app\n", "cpu", Some((Version::V2, "/sys/fs/cgroup/app")));
        check(&inside, "0::/elsewhere\n", "cpu", None);
        check(V2, "0::/../outside\n", "cpu", None);
    }

    #[test]
    fn strange_texts() {
        let spaced = V2.replace("/sys/fs/cgroup ", "/a\\040b\\134c ");
        check(&spaced, "0::/\n", "cpu", Some((Version::V2, "/a b\\c/")));
        check("", "", "cpu", None);
        check("1 2 - cgroup2\n\n - \n", "::\n0\n", "cpu", None);
        check("36 35 98:0 / /mnt rw - ext3 /dev/root rw,memory\n", "4:memory:/\n", "memory", None);
    }
}
