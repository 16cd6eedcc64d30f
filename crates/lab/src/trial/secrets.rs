//! Values that are never printed or written: read from the environment or generated for one run, and redacted from all
//! text that leaves the lab.

use std::fmt;

use crate::scenario::Secret;

/// Resolved secrets. Its debug form shows names only.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<(String, String)>,
    generated_variables: Vec<String>,
}

impl Secrets {
    /// Resolves every secret of a scenario; `env` looks an environment variable up.
    ///
    /// # Errors
    /// A secret has no value and must not be generated.
    pub fn resolve(secrets: &[Secret], env: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut resolved = Self::default();
        for secret in secrets {
            let found = secret.env.as_deref().and_then(env).filter(|value| !value.is_empty());
            let value = match found {
                Some(value) => value,
                None if secret.generate => {
                    resolved.generated_variables.push(secret.env.clone().unwrap_or_else(|| secret.name.clone()));
                    super::random_hex(16)?
                }
                None => return Err(missing_message(secret)),
            };
            resolved.values.push((secret.name.clone(), value));
        }
        Ok(resolved)
    }

    /// Names and values, for templates.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The environment variables that were not set, so that a value was generated.
    #[must_use]
    pub fn generated_variables(&self) -> &[String] {
        &self.generated_variables
    }

    /// The text with every secret redacted.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let strike = |text: String, (name, value): &(String, String)| text.replace(value, &format!("[secret {name}]"));
        self.values.iter().fold(text.to_owned(), strike)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(name, _)| name)).finish()
    }
}

fn missing_message(secret: &Secret) -> String {
    let variable = secret.env.as_deref().unwrap_or_default();
    format!("the secret `{}` has no value: set the environment variable {variable}", secret.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(env: Option<&str>, generate: bool) -> Secret {
        Secret { name: "token".to_owned(), env: env.map(str::to_owned), generate }
    }

    fn resolve(secret: Secret) -> Result<Secrets, String> {
        let env = |name: &str| (name == "SET").then(|| "hunter2".to_owned());
        Secrets::resolve(&[secret], &env)
    }

    #[test]
    fn the_environment_comes_first() {
        let secrets = resolve(secret(Some("SET"), true)).unwrap();
        assert_eq!(secrets.values().collect::<Vec<_>>(), [("token", "hunter2")]);
        assert_eq!(secrets.redact("Bearer hunter2!"), "Bearer [secret token]!");
        assert_eq!(format!("{secrets:?}"), "[\"token\"]");
        assert!(secrets.generated_variables().is_empty());
    }

    #[test]
    fn a_missing_secret_is_generated_only_on_request() {
        let (one, two) = (resolve(secret(Some("UNSET"), true)).unwrap(), resolve(secret(None, true)).unwrap());
        assert_ne!(one.values().next(), two.values().next());
        assert_eq!(one.generated_variables(), ["UNSET"]);
        let message = "the secret `token` has no value: set the environment variable UNSET";
        assert_eq!(resolve(secret(Some("UNSET"), false)).unwrap_err(), message);
    }
}
