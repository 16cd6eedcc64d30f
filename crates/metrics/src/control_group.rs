//! The memory that this process's control group may use, and how much is taken: above the limit the kernel kills the process. Knows both
//! versions of control groups; of a group inside others the one counts whose limit is the smallest.

use std::path::{Path, PathBuf};

/// How much memory is taken, of how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Without the contents of files, which the kernel drops when it needs room.
    pub used_bytes: u64,
    pub limit_bytes: u64,
}

impl MemoryUse {
    /// In thousandths of the limit.
    #[must_use]
    pub fn permille(self) -> u64 {
        (u128::from(self.used_bytes) * 1_000 / u128::from(self.limit_bytes.max(1))) as u64
    }
}

/// A control group with a limit of memory.
#[derive(Debug)]
pub struct ControlGroup {
    folder: PathBuf,
    files: &'static Files,
}

/// What the files of one version are called.
#[derive(Debug)]
struct Files {
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: contents of files.
    cached: [&'static str; 2],
}

static VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: ["total_active_file", "total_inactive_file"],
};
static VERSION_2: Files =
    Files { limit: "memory.max", used: "memory.current", cached: ["active_file", "inactive_file"] };

/// Version 1 writes a number as large as this where there is no limit.
const NO_LIMIT_MIN: u64 = 1 << 60;

impl ControlGroup {
    /// The group of this process; `None` where nothing limits its memory.
    #[must_use]
    pub fn find() -> Option<Self> {
        Self::find_below(Path::new("/"))
    }

    fn find_below(root: &Path) -> Option<Self> {
        let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
        let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let version_1 = lines().find(|(controllers, _)| controllers.split(',').any(|name| name == "memory"));
        let (path, files, mount) = match version_1 {
            Some((_, path)) => (path, &VERSION_1, root.join("sys/fs/cgroup/memory")),
            None => {
                (lines().find(|(controllers, _)| controllers.is_empty())?.1, &VERSION_2, root.join("sys/fs/cgroup"))
            }
        };
        // In a container the path may be that of the machine, and the mount shows only what lies below it.
        let path = path.trim_start_matches('/');
        let own = Path::new(path).ancestors().map(|folder| mount.join(folder));
        let limited = own.filter_map(|folder| limit(&folder, files).map(|bytes| (bytes, folder)));
        limited.min_by_key(|(bytes, _)| *bytes).map(|(_, folder)| Self { folder, files })
    }

    /// `None` where it cannot be read, or the limit is gone.
    #[must_use]
    pub fn memory(&self) -> Option<MemoryUse> {
        let limit_bytes = limit(&self.folder, self.files)?;
        let taken: u64 = number(&self.folder.join(self.files.used))?;
        let stat = std::fs::read_to_string(self.folder.join("memory.stat")).ok()?;
        let of_files = |line: &str| {
            let (name, bytes) = line.split_once(' ')?;
            self.files.cached.contains(&name).then(|| bytes.trim().parse::<u64>().ok())?
        };
        let cached: u64 = stat.lines().filter_map(of_files).sum();
        Some(MemoryUse { used_bytes: taken.saturating_sub(cached), limit_bytes })
    }
}

fn limit(folder: &Path, files: &Files) -> Option<u64> {
    number(&folder.join(files.limit)).filter(|bytes| *bytes < NO_LIMIT_MIN)
}

fn number(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these files; what its process may use.
    #[track_caller]
    fn check(name: &str, files: &[(&str, &str)], want: Option<(u64, u64)>) {
        let root = std::env::temp_dir().join(format!("gauntlet-control-group-{}-{name}", std::process::id()));
        for (path, content) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let found = ControlGroup::find_below(&root).and_then(|group| group.memory());
        let _ = std::fs::remove_dir_all(&root);
        let want = want.map(|(used_bytes, limit_bytes)| MemoryUse { used_bytes, limit_bytes });
        assert_eq!(found, want, "{name}");
    }

    #[test]
    fn the_smallest_limit_around_the_process_counts() {
        let stat = "anon 700\nfile 300\nactive_file 100\ninactive_file 150\n";
        check("none", &[], None);
        check("unlimited", &[("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "max\n")], None);
        check(
            "version-2",
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/memory.max", "2000\n"),
                ("sys/fs/cgroup/a/memory.current", "1000\n"),
                ("sys/fs/cgroup/a/memory.stat", stat),
                ("sys/fs/cgroup/a/b/memory.max", "3000\n"),
            ],
            Some((750, 2_000)),
        );
        check(
            "container",
            &[
                ("proc/self/cgroup", "0::/machine/pod\n"),
                ("sys/fs/cgroup/memory.max", "4000\n"),
                ("sys/fs/cgroup/memory.current", "200\n"),
                ("sys/fs/cgroup/memory.stat", stat),
            ],
            Some((0, 4_000)),
        );
        check(
            "version-1",
            &[
                ("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/a\n0::/\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n"),
                ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1000\n"),
                (
                    "sys/fs/cgroup/memory/a/memory.stat",
                    "active_file 999\ntotal_active_file 10\ntotal_inactive_file 20\n",
                ),
            ],
            Some((970, 5_000)),
        );
    }

    #[test]
    fn the_use_is_told_in_thousandths() {
        let permille = |used_bytes, limit_bytes| MemoryUse { used_bytes, limit_bytes }.permille();
        assert_eq!([permille(0, 0), permille(180, 200), permille(u64::MAX, u64::MAX / 2)], [0, 900, 2_000]);
    }
}
