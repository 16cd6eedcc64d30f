//! A disk that fails on request, under SQLite: the n-th call of one kind, or that one and all later ones.
//!
//! SQLite reaches files through a table of functions, its VFS. This one is the system's, in front of which `xOpen`, `xDelete` and five
//! functions of each open file ask first whether they are to fail. A file in no folder of a [`FaultyDisk`] is opened as ever. Syncs are counted
//! and not made: a test ends no machine.

#![expect(unsafe_code, reason = "the table is C's, and so are the files in it")]

use rusqlite::ffi;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What SQLite wants of its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskCall {
    Open,
    Read,
    /// Half of what was to be written is, like where a disk is full.
    Write,
    Sync,
    Truncate,
    /// A part of the index of the write-ahead log is mapped, which the file for it may have to grow for.
    SharedMemory,
    Delete,
}

impl DiskCall {
    pub const ALL: [Self; 7] =
        [Self::Open, Self::Read, Self::Write, Self::Sync, Self::Truncate, Self::SharedMemory, Self::Delete];

    /// What the system's VFS returns when the kernel refuses this.
    fn error(self, is_full: bool) -> c_int {
        match self {
            Self::Open => ffi::SQLITE_CANTOPEN,
            Self::Read => ffi::SQLITE_IOERR_READ,
            Self::Write if is_full => ffi::SQLITE_FULL,
            Self::Write => ffi::SQLITE_IOERR_WRITE,
            Self::Sync => ffi::SQLITE_IOERR_FSYNC,
            Self::Truncate => ffi::SQLITE_IOERR_TRUNCATE,
            Self::SharedMemory => ffi::SQLITE_IOERR_SHMSIZE,
            Self::Delete => ffi::SQLITE_IOERR_DELETE,
        }
    }
}

/// Which calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskFault {
    pub call: DiskCall,
    /// The number of the first one that fails, from 1.
    pub nth: u64,
    /// Whether all later ones fail, too: a disk that is full, or gone.
    pub is_lasting: bool,
}

/// A folder whose files fail.
pub struct FaultyDisk {
    folder: PathBuf,
    state: &'static Mutex<DiskState>,
}

#[derive(Default)]
struct DiskState {
    fault: Option<DiskFault>,
    /// Calls of the fault's kind so far.
    calls: u64,
    failed: u64,
    /// Something was written to a write-ahead log and is not synced.
    is_log_unsynced: bool,
}

impl FaultyDisk {
    /// The folder must exist. Nothing fails yet.
    ///
    /// # Panics
    /// When there is no such folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        install();
        // SQLite gives its VFS paths without symbolic links.
        let folder = folder.canonicalize().expect("the folder exists");
        let state: &'static Mutex<DiskState> = Box::leak(Box::default());
        disks().push((folder.clone(), state));
        Self { folder, state }
    }

    /// From here on calls are counted, and fail like this.
    pub fn fail(&self, fault: DiskFault) {
        let mut state = lock(self.state);
        (state.fault, state.calls, state.failed) = (Some(fault), 0, 0);
    }

    /// Nothing fails any more. What was refused until now need not be synced.
    pub fn heal(&self) {
        let mut state = lock(self.state);
        (state.fault, state.is_log_unsynced) = (None, false);
    }

    /// How many calls have failed since [`FaultyDisk::fail`].
    #[must_use]
    pub fn failed(&self) -> u64 {
        lock(self.state).failed
    }

    /// Whether a loss of power would now lose a part of a write-ahead log.
    #[must_use]
    pub fn is_log_unsynced(&self) -> bool {
        lock(self.state).is_log_unsynced
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        self.heal();
        disks().retain(|(folder, _)| *folder != self.folder);
    }
}

impl DiskState {
    /// What a call must return instead of being made.
    fn refuse(&mut self, call: DiskCall) -> Option<c_int> {
        let fault = self.fault.filter(|fault| fault.call == call)?;
        self.calls += 1;
        let fails = self.calls == fault.nth || (fault.is_lasting && self.calls > fault.nth);
        self.failed += u64::from(fails);
        fails.then(|| call.error(fault.is_lasting))
    }
}

fn lock(state: &Mutex<DiskState>) -> MutexGuard<'_, DiskState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

type Disk = (PathBuf, &'static Mutex<DiskState>);

fn disks() -> MutexGuard<'static, Vec<Disk>> {
    static DISKS: Mutex<Vec<Disk>> = Mutex::new(Vec::new());
    DISKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn disk_of(name: *const c_char) -> Option<&'static Mutex<DiskState>> {
    if name.is_null() {
        return None;
    }
    // SAFETY: SQLite names files by strings of C that live as long as the call.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    disks().iter().find(|(folder, _)| path.starts_with(folder)).map(|(_, state)| *state)
}

/// The system's VFS, once ours has been put in front of it.
static SYSTEM: OnceLock<SystemVfs> = OnceLock::new();

struct SystemVfs(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite's own VFS is a static that is never written to after SQLite has begun, and any thread may call it.
unsafe impl Send for SystemVfs {}
// SAFETY: as above.
unsafe impl Sync for SystemVfs {}

fn system() -> *mut ffi::sqlite3_vfs {
    SYSTEM.get().expect("our functions are called only after the installation").0
}

/// Makes it the VFS of all connections that this process opens from now on.
fn install() {
    SYSTEM.get_or_init(|| {
        // SAFETY: null asks for the default VFS, which there always is.
        let system = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        // SAFETY: a VFS is plain data. Those of its functions that are not replaced do not look at the VFS that they are called with.
        let mut ours = Box::new(unsafe { ptr::read(system) });
        (ours.pNext, ours.zName) = (ptr::null_mut(), c"faulty".as_ptr());
        ours.xOpen = Some(open);
        ours.xDelete = Some(delete);
        // SAFETY: it is leaked, so that it lives as long as the process.
        let registered = unsafe { ffi::sqlite3_vfs_register(Box::leak(ours), 1) };
        assert_eq!(registered, ffi::SQLITE_OK, "a VFS can be registered");
        SystemVfs(system)
    });
}

/// The functions of one open file, and those of the system behind them. `table` is first: a pointer to it is one to all.
#[repr(C)]
struct FileMethods {
    table: ffi::sqlite3_io_methods,
    of_system: *const ffi::sqlite3_io_methods,
    disk: &'static Mutex<DiskState>,
    is_log: bool,
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let disk = disk_of(name);
    if let Some(error) = disk.and_then(|disk| lock(disk).refuse(DiskCall::Open)) {
        // SAFETY: SQLite gives memory for a file; without functions it does not close it.
        unsafe { (*file).pMethods = ptr::null() };
        return error;
    }
    // SAFETY: the system's VFS is static; the arguments are SQLite's, with the VFS that they are for.
    let open = unsafe { (*system()).xOpen }.expect("every VFS has this");
    // SAFETY: as above.
    let opened = unsafe { open(system(), name, file, flags, out_flags) };
    if let Some(disk) = disk.filter(|_| opened == ffi::SQLITE_OK) {
        // SAFETY: the file was opened, and so has its functions.
        let of_system = unsafe { (*file).pMethods };
        // SAFETY: they are plain data, and static.
        let mut table = unsafe { *of_system };
        table.xClose = Some(close);
        table.xRead = Some(read);
        table.xWrite = Some(write);
        table.xSync = Some(sync);
        table.xTruncate = Some(truncate);
        table.xShmMap = Some(map_shared_memory);
        let methods = FileMethods { table, of_system, disk, is_log: flags & ffi::SQLITE_OPEN_WAL != 0 };
        // SAFETY: `close` takes it back; until then it lives.
        unsafe { (*file).pMethods = Box::into_raw(Box::new(methods)).cast() };
    }
    opened
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    if let Some(error) = disk_of(name).and_then(|disk| lock(disk).refuse(DiskCall::Delete)) {
        return error;
    }
    // SAFETY: the system's VFS is static; the arguments are SQLite's, with the VFS that they are for.
    let delete = unsafe { (*system()).xDelete }.expect("every VFS has this");
    // SAFETY: as above.
    unsafe { delete(system(), name, sync_folder) }
}

/// # Safety
/// The file was opened by [`open`] and is not closed.
unsafe fn methods<'file>(file: *mut ffi::sqlite3_file) -> (&'file FileMethods, &'file ffi::sqlite3_io_methods) {
    // SAFETY: `open` has put the table there, as the beginning of a `FileMethods`; the system's are static.
    unsafe {
        let methods = &*(*file).pMethods.cast::<FileMethods>();
        (methods, &*methods.of_system)
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once. What `open` has leaked is taken back, and the system sees its file as it opened it.
    unsafe {
        let ours = Box::from_raw((*file).pMethods.cast_mut().cast::<FileMethods>());
        (*file).pMethods = ours.of_system;
        (*ours.of_system).xClose.expect("every file has this")(file)
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    amount: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls this on an open file.
    let (ours, system) = unsafe { methods(file) };
    let refused = lock(ours.disk).refuse(DiskCall::Read);
    // SAFETY: the arguments are SQLite's.
    refused.unwrap_or_else(|| unsafe { system.xRead.expect("every file has this")(file, to, amount, at) })
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    amount: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls this on an open file.
    let (ours, system) = unsafe { methods(file) };
    let refused = {
        let mut disk = lock(ours.disk);
        disk.is_log_unsynced |= ours.is_log;
        disk.refuse(DiskCall::Write)
    };
    let amount = if refused.is_some() { amount / 2 } else { amount };
    // SAFETY: the arguments are SQLite's, or a part of them.
    let written = unsafe { system.xWrite.expect("every file has this")(file, from, amount, at) };
    refused.unwrap_or(written)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite calls this on an open file.
    let (ours, _) = unsafe { methods(file) };
    let mut disk = lock(ours.disk);
    let refused = disk.refuse(DiskCall::Sync);
    disk.is_log_unsynced &= !(ours.is_log && refused.is_none());
    refused.unwrap_or(ffi::SQLITE_OK)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls this on an open file.
    let (ours, system) = unsafe { methods(file) };
    let refused = lock(ours.disk).refuse(DiskCall::Truncate);
    // SAFETY: the arguments are SQLite's.
    refused.unwrap_or_else(|| unsafe { system.xTruncate.expect("every file has this")(file, size) })
}

unsafe extern "C" fn map_shared_memory(
    file: *mut ffi::sqlite3_file,
    part: c_int,
    size: c_int,
    may_grow: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite calls this on an open file.
    let (ours, system) = unsafe { methods(file) };
    let refused = lock(ours.disk).refuse(DiskCall::SharedMemory);
    if let Some(error) = refused {
        // SAFETY: SQLite wants to be told where the part is; nowhere.
        unsafe { *to = ptr::null_mut() };
        return error;
    }
    // SAFETY: the arguments are SQLite's.
    unsafe { system.xShmMap.expect("a file with a write-ahead log has this")(file, part, size, may_grow, to) }
}
