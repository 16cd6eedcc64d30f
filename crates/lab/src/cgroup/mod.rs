//! Limits of the target's memory and processor time, held by control groups of the kernel, of both interfaces. A run
//! has groups of its own below the lab's, so that whatever limits the lab limits the target too. They are removed in
//! every way out, and those of labs that were killed are removed by the next run. A limit that cannot be held is
//! refused, never left out. Refuses to know trials.

mod find;
mod group;
mod settings;
mod together;
mod unified;

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::limits::CPU_SHARE_MIN;
use crate::scenario::TargetLimits;
use find::{Own, Version, own};
use group::{Group, Name, sweep};
use settings::Hold;
use unified::{HandedDown, refused};

pub use settings::{LimitsSeen, Quota};
pub use together::Together;
pub(crate) use together::kill_when_alone;

/// Limits that are in force, as they stand in the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsApplied {
    /// Memory of all the target's processes, in bytes, as the kernel rounded it.
    pub memory_bytes: Option<u64>,
    /// Processor time of all the target's processes.
    pub cpu: Option<Quota>,
    /// Open files of each of the target's processes.
    pub open_files: Option<u64>,
    /// What a reader must know about them.
    pub notes: Vec<String>,
}

/// A target's control groups. Dropping it kills what is in them and removes them.
#[derive(Debug)]
pub struct Confined {
    /// Each with the place of its group.
    holds: Vec<(Hold, Version, usize)>,
    groups: Vec<Group>,
    /// Behind the groups, because they go first.
    _handed_down: Option<HandedDown>,
    applied: LimitsApplied,
}

impl Confined {
    /// Makes groups for a run and sets its limits. None where memory and processor time are not limited.
    ///
    /// # Errors
    /// The sentence that says what this machine lacks, and what to do.
    pub fn apply(limits: &TargetLimits, run: &str) -> Result<Option<Self>, String> {
        let holds = holds(limits)?;
        if holds.is_empty() {
            return Ok(None);
        }
        let name = Name::of_run(run).ok_or("[target.limits] need /proc, which this system does not have")?;
        let places = places(&holds)?;
        places.iter().for_each(|(_, own)| sweep(&own.dir));
        let handed_down = hand_down(&places, &name)?;
        let mut confined = Self {
            holds: Vec::new(),
            groups: Vec::new(),
            _handed_down: handed_down,
            applied: LimitsApplied { open_files: limits.open_files, ..LimitsApplied::default() },
        };
        for (hold, own) in &places {
            confined.hold(*hold, own, &name).map_err(|why| cannot(hold.controller(), &why, Some(own.version)))?;
        }
        Ok(Some(confined))
    }

    fn hold(&mut self, hold: Hold, own: &Own, name: &Name) -> Result<(), String> {
        let dir = own.dir.join(name.to_string());
        let place = match self.groups.iter().position(|group| group.dir() == dir) {
            Some(place) => place,
            None => {
                let group = Group::create(&own.dir, &name.to_string()).map_err(|error| refused(&dir, &error))?;
                self.groups.push(group);
                self.groups.len() - 1
            }
        };
        self.holds.push((hold, own.version, place));
        let mut extras = 0;
        for setting in hold.settings(own.version) {
            match self.groups[place].write(setting.file, &setting.value) {
                Ok(()) => extras += usize::from(setting.is_extra),
                Err(_) if setting.is_extra => {}
                Err(error) => return Err(refused(&dir.join(setting.file), &error)),
            }
        }
        match hold {
            Hold::Cpu(quota) => self.applied.cpu = Some(quota),
            Hold::Memory(bytes) => {
                let file = &hold.settings(own.version)[0].file;
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

    /// The files that a process writes itself into to be limited.
    #[must_use]
    pub fn procs(&self) -> Vec<PathBuf> {
        self.groups.iter().map(Group::procs).collect()
    }

    /// The groups of the second interface, each of which a process can be in only one of.
    #[must_use]
    pub fn unified(&self) -> Vec<PathBuf> {
        let mut places: Vec<usize> =
            self.holds.iter().filter(|(_, version, _)| *version == Version::V2).map(|(.., place)| *place).collect();
        places.dedup();
        places.into_iter().map(|place| self.groups[place].dir().to_owned()).collect()
    }

    /// What is in force.
    #[must_use]
    pub fn applied(&self) -> &LimitsApplied {
        &self.applied
    }

    /// What the limits did until now.
    #[must_use]
    pub fn seen(&self) -> LimitsSeen {
        let mut seen = LimitsSeen::default();
        for (hold, version, place) in &self.holds {
            hold.see(*version, &mut seen, &|file| self.groups[*place].read(file));
        }
        seen
    }
}

fn holds(limits: &TargetLimits) -> Result<Vec<Hold>, String> {
    if let Some(cores) = limits.cpu_share.filter(|cores| !(*cores >= CPU_SHARE_MIN && cores.is_finite())) {
        return Err(format!("[target.limits] cpu must be at least {CPU_SHARE_MIN} cores, not {cores}"));
    }
    let memory = limits.memory_bytes.map(Hold::Memory);
    let cpu = limits.cpu_share.map(|cores| Hold::Cpu(Quota::of_share(cores)));
    Ok([memory, cpu].into_iter().flatten().collect())
}

fn places(holds: &[Hold]) -> Result<Vec<(Hold, Own)>, String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (mounts, cgroup) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    let place = |hold: &Hold| {
        let controller = hold.controller();
        let missing = || cannot(hold.controller(), &format!("no control group for `{controller}` is mounted"), None);
        Ok((*hold, own(&mounts, &cgroup, controller).ok_or_else(missing)?))
    };
    holds.iter().map(place).collect()
}

/// Needed for the second interface alone, and there for all controllers at once.
fn hand_down(places: &[(Hold, Own)], name: &Name) -> Result<Option<HandedDown>, String> {
    let unified: Vec<_> = places.iter().filter(|(_, own)| own.version == Version::V2).collect();
    let Some((first, own)) = unified.first() else { return Ok(None) };
    let controllers: Vec<&str> = unified.iter().map(|(hold, _)| hold.controller()).collect();
    let handed_down = HandedDown::new(&own.dir, &controllers, &format!("{name}.lab"));
    handed_down.map_err(|why| cannot(first.controller(), &why, Some(Version::V2)))
}

fn cannot(key: &str, why: &str, version: Option<Version>) -> String {
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
    format!("[target.limits] {key} cannot be held: {why}; {advice}, or take the limit out of the scenario")
}

fn has_swap() -> bool {
    // The first line is a heading.
    fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}

#[cfg(test)]
mod tests;
