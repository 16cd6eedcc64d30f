//! The second interface's rule that a group contains either processes or limited groups: before a run's group can be
//! limited, the lab itself may have to move into a group of its own. Everything is restored at the end. Moves no other
//! process.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::group::{Group, write};

/// Controllers that were enabled for child groups, and where the lab moved for it.
#[derive(Debug)]
pub(super) struct EnabledControllers {
    own: PathBuf,
    controllers: Vec<String>,
    /// None if the lab could stay.
    leaf: Option<Group>,
}

impl EnabledControllers {
    /// Enables controllers for the groups below `own`, the lab's group; `aside` is the name of the group into which the
    /// lab moves if necessary. None if they are enabled already.
    ///
    /// # Errors
    /// Why that is impossible, as part of a sentence.
    pub(super) fn new(own: &Path, controllers: &[&str], aside: &str) -> Result<Option<Self>, String> {
        let listed = |file: &str| -> Vec<String> {
            let text = fs::read_to_string(own.join(file)).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        };
        let (available, already) = (listed("cgroup.controllers"), listed("cgroup.subtree_control"));
        let lacks = |all: &[String]| {
            let missing = controllers.iter().filter(|one| !all.iter().any(|name| name == *one));
            missing.map(|one| (*one).to_owned()).collect::<Vec<_>>()
        };
        if let Some(missing) = lacks(&available).first() {
            return Err(format!("the controller `{missing}` is not handed to {}", own.display()));
        }
        let controllers = lacks(&already);
        if controllers.is_empty() {
            return Ok(None);
        }
        let mut handed = Self { own: own.to_owned(), controllers, leaf: None };
        match handed.enable() {
            Err(error) if is_busy(&error) => handed.move_to_leaf(aside)?,
            Err(error) => return Err(refused(&handed.control_file(), &error)),
            Ok(()) => {}
        }
        Ok(Some(handed))
    }

    fn control_file(&self) -> PathBuf {
        self.own.join("cgroup.subtree_control")
    }

    fn write_control(&self, sign: char) -> std::io::Result<()> {
        let words: Vec<String> = self.controllers.iter().map(|name| format!("{sign}{name}")).collect();
        write(&self.control_file(), &words.join(" "))
    }

    fn enable(&self) -> std::io::Result<()> {
        self.write_control('+')
    }

    fn move_to_leaf(&mut self, name: &str) -> Result<(), String> {
        let procs = fs::read_to_string(self.own.join("cgroup.procs")).unwrap_or_default();
        if procs.trim() != std::process::id().to_string() {
            return Err(format!("other processes than the lab are in {}", self.own.display()));
        }
        let aside = Group::create(&self.own, name).map_err(|error| refused(&self.own, &error))?;
        write(&aside.procs_file(), "0").map_err(|error| refused(&aside.procs_file(), &error))?;
        // From here on, dropping moves the lab back.
        self.leaf = Some(aside);
        self.enable().map_err(|error| refused(&self.control_file(), &error))
    }
}

impl Drop for EnabledControllers {
    /// If the lab could stay, another lab may rely on the enabled controllers by now, so they are left.
    fn drop(&mut self) {
        if let Some(aside) = self.leaf.take() {
            // A failure here leaves an empty group, which the next run removes.
            let _ = self.write_control('-');
            let _ = write(&self.own.join("cgroup.procs"), "0");
            drop(aside);
        }
    }
}

fn is_busy(error: &std::io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::BUSY)
}

pub(super) fn refused(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
