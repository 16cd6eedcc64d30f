//! The database over TLS: each `sslmode` against a server with TLS, with other certificates, and without; what the operator is told.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use postgres::{Client, NoTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::PathBuf;
use store::Database;
use store::postgres::PostgresDatabase;
use store::testing::{PostgresCluster, TempDir};

const ANY_ACCESS: &str = "local all all trust\nhost all all all trust\n";
/// What PostgreSQL may allow, and a client that prefers TLS must find out.
const PLAIN_ACCESS: &str = "local all all trust\nhostnossl all all all trust\n";
const TLS_ACCESS: &str = "local all all trust\nhostssl all all all trust\n";

struct TestDatabase {
    cluster: PostgresCluster,
    admin_url: String,
    name: String,
    dir: TempDir,
}

/// What a connection is to be.
#[derive(Debug, PartialEq)]
enum Outcome {
    Encrypted,
    Plain,
}
use Outcome::{Encrypted, Plain};

impl TestDatabase {
    fn new() -> Self {
        let cluster = PostgresCluster::start_on_tcp();
        let admin_url = cluster.new_empty_database_url();
        let name = admin_url.rsplit_once("dbname=").unwrap().1.to_owned();
        drop(PostgresDatabase::new(&admin_url).unwrap().writer().unwrap());
        Self { cluster, admin_url, name, dir: TempDir::new() }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Opens the database at this host with these parameters, and says how it is connected.
    fn open(&self, host: &str, parameters: &str) -> Result<(Outcome, Vec<String>), String> {
        let url = format!("postgres://gauntlet@{host}:{}/{}?{parameters}", self.cluster.port(), self.name);
        let database = PostgresDatabase::new(&url).map_err(|error| error.to_string())?;
        let _reader = database.reader().map_err(|error| error.to_string())?;
        let mut admin = Client::connect(&self.admin_url, NoTls).unwrap();
        let sql = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_port > 0";
        let encrypted: Vec<bool> = admin.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect();
        // Sessions of earlier openings may not have ended yet.
        assert!(!encrypted.is_empty());
        let is_encrypted = database.is_encrypted();
        assert!(encrypted.contains(&is_encrypted), "{encrypted:?}");
        Ok((if is_encrypted { Encrypted } else { Plain }, database.plain_text_hosts()))
    }

    #[track_caller]
    fn check(&self, host: &str, parameters: &str, want: &Outcome) {
        let (outcome, remote) = self.open(host, parameters).unwrap_or_else(|why| panic!("{host} {parameters}: {why}"));
        assert_eq!(&outcome, want, "{host} {parameters}");
        let is_remote = host == "db.example" && outcome == Plain;
        assert_eq!(remote, if is_remote { vec![host.to_owned()] } else { Vec::new() }, "{host} {parameters}");
    }

    #[track_caller]
    fn check_refused(&self, host: &str, parameters: &str, want: &[&str]) {
        let Err(why) = self.open(host, parameters) else { panic!("{host} {parameters}: it was opened") };
        for part in want {
            assert!(why.contains(part), "{host} {parameters}: {why}");
        }
    }
}

/// An authority, and a certificate of its for these names.
fn issue(names: &[&str], has_expired: bool) -> (String, String, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    if has_expired {
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    }
    let certificate = params.signed_by(&key, &authority).unwrap();
    (authority.pem(), certificate.pem(), key.serialize_pem())
}

#[test]
fn the_database_is_reached_as_its_address_says() {
    let database = TestDatabase::new();
    // Without TLS: what went before goes on, on a name whose first address nothing listens at, too.
    let to_remote = "hostaddr=127.0.0.1";
    for parameters in ["", "sslmode=disable", "sslmode=prefer"] {
        database.check("localhost", parameters, &Plain);
    }
    database.check("127.0.0.1", "", &Plain);
    database.check("db.example", to_remote, &Plain);
    for mode in ["require", "verify-ca", "verify-full"] {
        database.check_refused("localhost", &format!("sslmode={mode}"), &["speaks no TLS", "ssl = on"]);
    }

    let (authority, certificate, key) = issue(&["localhost", "db.example"], false);
    let (other_authority, other_certificate, other_key) = issue(&["other.example"], false);
    let ca = format!("sslrootcert={}", database.file("ca.pem", &authority).display());
    let other_ca = format!("sslrootcert={}", database.file("other.pem", &other_authority).display());
    database.cluster.restart_with_tls(&certificate, &key, ANY_ACCESS);
    for parameters in ["", "sslmode=prefer", "sslmode=require"] {
        database.check("localhost", parameters, &Encrypted);
        database.check("db.example", &format!("{to_remote}&{parameters}"), &Encrypted);
    }
    database.check("localhost", "sslmode=disable", &Plain);
    for mode in ["require", "verify-ca", "verify-full"] {
        database.check("localhost", &format!("sslmode={mode}&{ca}"), &Encrypted);
        let why = ["is of no authority that is trusted here", "sslrootcert=FILE"];
        database.check_refused("localhost", &format!("sslmode={mode}&{other_ca}"), &why);
    }
    database.check("db.example", &format!("{to_remote}&sslmode=verify-full&{ca}"), &Encrypted);
    database.check("127.0.0.1", &format!("sslmode=verify-ca&{ca}"), &Encrypted);
    // Public authorities are trusted where no file is named.
    database.check_refused("localhost", "sslmode=verify-full", &["is of no authority that is trusted here"]);
    let why = ["127.0.0.1 is not for this name", "localhost", "db.example", "sslmode=verify-ca"];
    database.check_refused("127.0.0.1", &format!("sslmode=verify-full&{ca}"), &why);

    // Of two addresses one has no listener: the other is used, and what was wrong with it is said.
    let both = format!("localhost:{},localhost", database.cluster.port());
    for addresses in ["hostaddr=::1,127.0.0.1", "hostaddr=127.0.0.1,::1"] {
        database.check(&both, &format!("{addresses}&sslmode=verify-full&{ca}"), &Encrypted);
        let why = ["is of no authority that is trusted here"];
        database.check_refused(&both, &format!("{addresses}&sslmode=verify-full&{other_ca}"), &why);
    }

    // A server that lets clients in by one way alone.
    database.cluster.restart_with_tls(&certificate, &key, PLAIN_ACCESS);
    database.check("localhost", "", &Plain);
    database.check(&both, "hostaddr=127.0.0.1,::1", &Plain);
    database.check_refused("localhost", "sslmode=require", &["pg_hba.conf"]);
    database.cluster.restart_with_tls(&certificate, &key, TLS_ACCESS);
    database.check("localhost", "", &Encrypted);
    database.check_refused("localhost", "sslmode=disable", &["pg_hba.conf", "no encryption"]);

    // The server's own certificate as the file, a certificate for another name, and one that has expired.
    database.cluster.restart_with_tls(&other_certificate, &other_key, ANY_ACCESS);
    let own = format!("sslrootcert={}", database.file("own.pem", &other_certificate).display());
    database.check("localhost", &format!("sslmode=verify-ca&{own}"), &Encrypted);
    let why = ["localhost is not for this name", "other.example"];
    database.check_refused("localhost", &format!("sslmode=verify-full&{own}"), &why);
    let (authority, certificate, key) = issue(&["localhost"], true);
    let ca = format!("sslrootcert={}", database.file("old.pem", &authority).display());
    database.cluster.restart_with_tls(&certificate, &key, ANY_ACCESS);
    database.check_refused("localhost", &format!("sslmode=verify-full&{ca}"), &["has expired", "renew it"]);
    database.check("localhost", "sslmode=require", &Encrypted);
}
