//! TLS to the database: which certificates are trusted in each `sslmode`, as libpq does it, and what a failed handshake means for the
//! operator. Knows no addresses.

use super::address::invalid;
use crate::contract::StoreError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The `sslrootcert` that means public authorities.
const SYSTEM: &str = "system";

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SslMode {
    /// Not at all.
    Disable,
    /// Encrypted where the server can; its certificate is not verified.
    Prefer,
    /// Encrypted, or refused; the certificate is not verified.
    Require,
    /// The certificate is of a trusted authority.
    VerifyCa,
    /// The same, and it is the host's.
    VerifyFull,
}

impl SslMode {
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        Ok(match text {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(invalid(
                    "sslmode of the database's address is unknown; expected disable, prefer, require, verify-ca or verify-full",
                ));
            }
        })
    }
}

/// The mode, and the authorities that are trusted.
#[derive(Clone)]
pub(super) struct TlsConfig {
    mode: SslMode,
    roots: Arc<RootCertStore>,
    /// The certificates of the file: a server's own may be among them.
    pinned: Arc<[CertificateDer<'static>]>,
}

impl TlsConfig {
    /// The configuration that trusts the authorities of this file, or public ones.
    ///
    /// # Errors
    /// The file cannot be read, or the mode would not use it.
    pub(super) fn new(mode: SslMode, root_cert: Option<&Path>) -> Result<Self, StoreError> {
        let Some(path) = root_cert.filter(|path| *path != Path::new(SYSTEM)) else {
            let roots = Arc::new(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
            return Ok(Self { mode, roots, pinned: Arc::default() });
        };
        let wrong = |why: &dyn std::fmt::Display| {
            invalid(format!("sslrootcert {} of the database's address: {why}", path.display()))
        };
        let mode = match mode {
            SslMode::Prefer => return Err(wrong(&"it is not used without sslmode=verify-full (or verify-ca)")),
            // As libpq does: who names authorities wants them verified.
            SslMode::Require => SslMode::VerifyCa,
            other => other,
        };
        let pinned: Vec<_> =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(|error| wrong(&error))?;
        if pinned.is_empty() {
            return Err(wrong(&"there is no certificate in it; expected PEM (BEGIN CERTIFICATE)"));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &pinned {
            roots.add(certificate.clone()).map_err(|error| wrong(&error))?;
        }
        Ok(Self { mode, roots: Arc::new(roots), pinned: pinned.into() })
    }

    pub(super) fn mode(&self) -> SslMode {
        self.mode
    }

    /// What makes one connection, and what is learned of its handshakes.
    pub(super) fn connector(&self) -> Result<(MakeRustlsConnect, Arc<Verifier>), StoreError> {
        let provider = Arc::new(ring::default_provider());
        let verifier =
            Arc::new(Verifier { config: self.clone(), provider: provider.clone(), handshake: Mutex::default() });
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| invalid(error.to_string()))?;
        let mut config = builder.dangerous().with_custom_certificate_verifier(verifier.clone()).with_no_client_auth();
        // A resumed session would not come by the verifier.
        config.resumption = Resumption::disabled();
        Ok((MakeRustlsConnect::new(config), verifier))
    }
}

/// What became of the handshakes of one connection, which may have tried several addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Handshake {
    /// Whether a server began one.
    pub(super) has_begun: bool,
    /// Why a certificate was refused.
    pub(super) refusal: Option<String>,
}

/// Verifies certificates as the mode says.
pub(super) struct Verifier {
    config: TlsConfig,
    provider: Arc<CryptoProvider>,
    handshake: Mutex<Handshake>,
}

impl Verifier {
    pub(super) fn handshake(&self) -> Handshake {
        self.handshake.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        if matches!(self.config.mode, SslMode::Disable | SslMode::Prefer | SslMode::Require) {
            return Ok(());
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        // A server's own certificate may stand in the file: no authority has signed it.
        if !self.config.pinned.contains(certificate) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.config.roots, intermediates, now, algorithms)?;
        }
        if self.config.mode == SslMode::VerifyFull { verify_server_name(&parsed, name) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Verifier({:?})", self.config.mode)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.verify(certificate, intermediates, name, now);
        let mut handshake = self.handshake.lock().unwrap_or_else(PoisonError::into_inner);
        handshake.has_begun = true;
        if let Err(error) = &verified {
            handshake.refusal = Some(refusal(error, &name.to_str()));
        }
        verified.map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why the certificate of a server was refused, and what to do.
fn refusal(error: &Error, host: &str) -> String {
    let Error::InvalidCertificate(reason) = error else {
        return format!("the certificate of the database's server {host} was refused: {error}");
    };
    let why = match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "is of no authority that is trusted here: name the file of its authority (PEM) with sslrootcert=FILE in the address".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names = if presented.is_empty() { "no name (subjectAltName)".to_owned() } else { presented.join(", ") };
            format!(
                "is not for this name; it has {names}: connect by a name that it has, have one made for this name, or verify its authority \
                 alone with sslmode=verify-ca"
            )
        }
        CertificateError::NotValidForName => {
            "is not for this name: connect by a name that it has, or verify its authority alone with sslmode=verify-ca".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "has expired: renew it, or set this machine's clock".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet: set this machine's clock, or wait".to_owned()
        }
        other => format!("was refused ({other}); a file with this very certificate as sslrootcert=FILE makes it trusted"),
    };
    format!("the certificate of the database's server {host} {why}")
}
