//! Limits of the target's memory and processor time, enforced by control groups of the kernel, with both interfaces. A
//! run has its own groups below the lab's, so that limits of the lab apply to the target too. They are removed in every
//! way out, and those of killed labs by the next run. A limit that cannot be enforced is refused, never omitted. Does
//! not know trials.

mod controllers;
mod group;
mod locate;
mod trial_cgroup;
mod unified;

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::limits::CPU_SHARE_MIN;
use crate::scenario::TargetLimits;
use controllers::ControllerLimit;
use group::{Group, GroupName, remove_stale};
use locate::{OwnCgroup, Version, find_own_cgroup};
use unified::{EnabledControllers, refused};

pub use controllers::{LimitStats, Quota};
pub use trial_cgroup::TrialCgroup;
pub(crate) use trial_cgroup::kill_after_parent;

/// Limits that are in force, for the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsApplied {
    /// Memory of all the target's processes, in bytes, as the kernel rounded it.
    pub memory_bytes: Option<u64>,
    /// Processor time of all the target's processes.
    pub cpu: Option<Quota>,
    /// Open files of each of the target's processes.
    pub open_files: Option<u64>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A target's control groups. Dropping it kills what is in them and removes them.
#[derive(Debug)]
pub struct TargetCgroups {
    /// Each with the index of its group.
    limits: Vec<(ControllerLimit, Version, usize)>,
    groups: Vec<Group>,
    /// After the groups, because they are dropped first.
    _enabled_controllers: Option<EnabledControllers>,
    applied: LimitsApplied,
}

impl TargetCgroups {
    /// Creates groups for a run and sets its limits. None if memory and processor time are not limited.
    ///
    /// # Errors
    /// The sentence that says what this machine lacks, and what to do.
    pub fn apply(limits: &TargetLimits, run: &str) -> Result<Option<Self>, String> {
        let holds = controller_limits(limits)?;
        if holds.is_empty() {
            return Ok(None);
        }
        let name = GroupName::for_run(run).ok_or("[target.limits] need /proc, which this system does not have")?;
        let places = find_cgroups(&holds)?;
        places.iter().for_each(|(_, own)| remove_stale(&own.dir));
        let handed_down = enable_controllers(&places, &name)?;
        let mut cgroups = Self {
            limits: Vec::new(),
            groups: Vec::new(),
            _enabled_controllers: handed_down,
            applied: LimitsApplied { open_files: limits.open_files, ..LimitsApplied::default() },
        };
        for (limit, own) in &places {
            cgroups
                .apply_limit(*limit, own, &name)
                .map_err(|reason| unavailable(limit.controller(), &reason, Some(own.version)))?;
        }
        Ok(Some(cgroups))
    }

    fn apply_limit(&mut self, limit: ControllerLimit, own: &OwnCgroup, name: &GroupName) -> Result<(), String> {
        let dir = own.dir.join(name.to_string());
        let place = match self.groups.iter().position(|group| group.dir() == dir) {
            Some(place) => place,
            None => {
                let group = Group::create(&own.dir, &name.to_string()).map_err(|error| refused(&dir, &error))?;
                self.groups.push(group);
                self.groups.len() - 1
            }
        };
        self.limits.push((limit, own.version, place));
        let mut extras = 0;
        for setting in limit.files(own.version) {
            match self.groups[place].write(setting.name, &setting.value) {
                Ok(()) => extras += usize::from(setting.is_optional),
                Err(_) if setting.is_optional => {}
                Err(error) => return Err(refused(&dir.join(setting.name), &error)),
            }
        }
        match limit {
            ControllerLimit::Cpu(quota) => self.applied.cpu = Some(quota),
            ControllerLimit::Memory(bytes) => {
                let file = &limit.files(own.version)[0].name;
                let kept = self.groups[place].read(file).and_then(|text| text.trim().parse().ok());
                self.applied.memory_bytes = Some(kept.unwrap_or(bytes));
                if extras == 0 && has_swap() {
                    let note = "The kernel limits the target's memory, but not what it swaps out.";
                    self.applied.notes.push(note.to_owned());
                }
            }
        }
        Ok(())
    }

    /// A process joins the groups by writing itself into these files.
    #[must_use]
    pub fn procs_files(&self) -> Vec<PathBuf> {
        self.groups.iter().map(Group::procs_file).collect()
    }

    /// The groups of the second interface, each of which a process can be in only one of.
    #[must_use]
    pub fn unified(&self) -> Vec<PathBuf> {
        let mut places: Vec<usize> =
            self.limits.iter().filter(|(_, version, _)| *version == Version::V2).map(|(.., place)| *place).collect();
        places.dedup();
        places.into_iter().map(|place| self.groups[place].dir().to_owned()).collect()
    }

    #[must_use]
    pub fn applied(&self) -> &LimitsApplied {
        &self.applied
    }

    #[must_use]
    pub fn stats(&self) -> LimitStats {
        let mut seen = LimitStats::default();
        for (limit, version, place) in &self.limits {
            limit.read_stats(*version, &mut seen, &|file| self.groups[*place].read(file));
        }
        seen
    }
}

fn controller_limits(limits: &TargetLimits) -> Result<Vec<ControllerLimit>, String> {
    if let Some(cores) = limits.cpu_cores.filter(|cores| !(*cores >= CPU_SHARE_MIN && cores.is_finite())) {
        return Err(format!("[target.limits] cpu must be at least {CPU_SHARE_MIN} cores, not {cores}"));
    }
    let memory = limits.memory_bytes.map(ControllerLimit::Memory);
    let cpu = limits.cpu_cores.map(|cores| ControllerLimit::Cpu(Quota::from_cores(cores)));
    Ok([memory, cpu].into_iter().flatten().collect())
}

fn find_cgroups(holds: &[ControllerLimit]) -> Result<Vec<(ControllerLimit, OwnCgroup)>, String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (mounts, cgroup) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    let place = |limit: &ControllerLimit| {
        let controller = limit.controller();
        let missing =
            || unavailable(limit.controller(), &format!("no control group for `{controller}` is mounted"), None);
        Ok((*limit, find_own_cgroup(&mounts, &cgroup, controller).ok_or_else(missing)?))
    };
    holds.iter().map(place).collect()
}

/// Only the second interface needs it, for all controllers at once.
fn enable_controllers(
    places: &[(ControllerLimit, OwnCgroup)],
    name: &GroupName,
) -> Result<Option<EnabledControllers>, String> {
    let unified: Vec<_> = places.iter().filter(|(_, own)| own.version == Version::V2).collect();
    let Some((first, own)) = unified.first() else { return Ok(None) };
    let controllers: Vec<&str> = unified.iter().map(|(limit, _)| limit.controller()).collect();
    let handed_down = EnabledControllers::new(&own.dir, &controllers, &format!("{name}.lab"));
    handed_down.map_err(|reason| unavailable(first.controller(), &reason, Some(Version::V2)))
}

fn unavailable(key: &str, reason: &str, version: Option<Version>) -> String {
    let advice = match version {
        Some(Version::V1) => {
            "run the lab as root, where /sys/fs/cgroup can be written (this kernel's control groups of the first \
             interface are not for users)"
        }
        Some(Version::V2) => {
            "it needs a control group of the lab's own: systemd-run --user --scope -p Delegate=yes gauntlet run ... \
             (as root without --user)"
        }
        None => "it needs a kernel with control groups, mounted below /sys/fs/cgroup",
    };
    format!("[target.limits] {key} cannot be held: {reason}; {advice}, or take the limit out of the scenario")
}

fn has_swap() -> bool {
    // The first line is a heading.
    fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}

#[cfg(test)]
mod tests;
