//! TLS for targets with https: which certificates are trusted, and the protocol negotiation. Each connection stands for
//! another user, so no session is resumed: every handshake has its full cost. Does not know sockets.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::scenario::{BaseUrl, Target};

/// The name of HTTP/1.1 in ALPN (RFC 7301).
const HTTP_1_1: &[u8] = b"http/1.1";

/// The TLS configuration for one host.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

/// Which certificates are trusted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    /// A file of certificates (PEM) besides the public authorities.
    ca: Option<String>,
    /// Whether any certificate is accepted: the handshake is made, and the host is not verified.
    insecure: bool,
}

impl Trust {
    pub(crate) fn for_target(target: &Target) -> Self {
        Self { ca: target.ca_file.clone(), insecure: target.insecure }
    }
}

impl Tls {
    /// The TLS configuration of a host; none for one without TLS.
    ///
    /// # Errors
    /// The file of certificates cannot be read, or the host's name cannot stand in a certificate.
    pub(crate) fn for_host(base: &BaseUrl, trust: &Trust) -> Result<Option<Self>, String> {
        if !base.uses_tls {
            return Ok(None);
        }
        let name = ServerName::try_from(base.host.clone())
            .map_err(|_| format!("`{}` is no name that a certificate can have", base.host))?;
        Ok(Some(Self { config: Arc::new(client_config(trust)?), name }))
    }

    /// A new session.
    ///
    /// # Errors
    /// The library's, if it rejects its own configuration.
    pub(crate) fn new_connection(&self) -> Result<ClientConnection, Error> {
        let mut connection = ClientConnection::new(self.config.clone(), self.name.clone())?;
        // A request is bounded by itself; half of one could not be finished later.
        connection.set_buffer_limit(None);
        Ok(connection)
    }
}

/// # Errors
/// The file of certificates cannot be read.
pub(super) fn client_config(trust: &Trust) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = if trust.insecure {
        let verifier = Arc::new(NoCertificateVerification(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(root_store(trust.ca.as_deref())?).with_no_client_auth()
    };
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn root_store(ca: Option<&str>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let Some(path) = ca else { return Ok(roots) };
    let wrong = |reason: String| format!("target.ca: {path}: {reason}");
    let certificates: Vec<_> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(|error| wrong(error.to_string()))?;
    if certificates.is_empty() {
        return Err(wrong("holds no certificate (PEM)".to_owned()));
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(roots)
}

/// Accepts any certificate (`insecure = true`). Signatures are verified all the same, so that the server does hold the
/// key of the certificate that it presents.
#[derive(Debug)]
struct NoCertificateVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoCertificateVerification {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
