//! What the programs are started with.

/// The runtimes that both programs have inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// async-std.
    AsyncStd,
    /// Plain threads.
    Blocking,
    /// mio.
    Mio,
    /// smol.
    Smol,
    /// tokio.
    Tokio,
}

impl Runtime {
    fn named(name: &str) -> Result<Self, String> {
        match name {
            "async-std" => Ok(Self::AsyncStd),
            "blocking" => Ok(Self::Blocking),
            "mio" => Ok(Self::Mio),
            "smol" => Ok(Self::Smol),
            "tokio" => Ok(Self::Tokio),
            other => Err(format!("there is no runtime `{other}`")),
        }
    }
}

/// The words after a program's name, as far as both programs read them alike.
#[derive(Debug, Default)]
pub struct Arguments {
    runtime: Option<Runtime>,
    listen: Option<String>,
    /// What is not an option.
    others: Vec<String>,
}

impl Arguments {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// When an option is not known, or its value is missing or wrong.
    pub fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--runtime" => arguments.runtime = Some(Runtime::named(&value()?)?),
                "--listen" => arguments.listen = Some(value()?),
                option if option.starts_with('-') => return Err(format!("there is no option `{option}`")),
                _ => arguments.others.push(word),
            }
        }
        Ok(arguments)
    }

    /// The words of the server: where to run, and the address to listen at.
    ///
    /// # Errors
    ///
    /// When one of them is missing, or there are more.
    pub fn of_server(self) -> Result<(Runtime, String), String> {
        match self {
            Self { runtime: Some(runtime), listen: Some(address), others } if others.is_empty() => {
                Ok((runtime, address))
            }
            _ => Err("usage: conformance-server --runtime R --listen 127.0.0.1:PORT".into()),
        }
    }

    /// The words of the client: where to run, and the URL to connect to.
    ///
    /// # Errors
    ///
    /// When one of them is missing, or there are more.
    pub fn of_client(self) -> Result<(Runtime, String), String> {
        match (self.runtime, self.listen, <[String; 1]>::try_from(self.others)) {
            (Some(runtime), None, Ok([url])) => Ok((runtime, url)),
            _ => Err("usage: conformance-client --runtime R URL".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Arguments, String> {
        Arguments::read(words.split(' ').map(String::from))
    }

    #[test]
    fn each_program_has_its_own_words() {
        let server = read("--listen 127.0.0.1:0 --runtime mio").and_then(Arguments::of_server);
        assert_eq!(server, Ok((Runtime::Mio, "127.0.0.1:0".into())));
        let client = read("--runtime async-std http://localhost:1/mcp").and_then(Arguments::of_client);
        assert_eq!(client, Ok((Runtime::AsyncStd, "http://localhost:1/mcp".into())));
        assert!(read("--runtime tokio --listen").is_err());
        assert!(read("--runtime glommio").is_err());
        assert!(read("--runtime tokio one two").and_then(Arguments::of_client).is_err());
    }
}
