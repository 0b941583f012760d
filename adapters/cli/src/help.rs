//! What there is to know of the command, for people.

/// What `windlass help` prints.
const HELP: &str = "\
windlass talks to Model Context Protocol servers, on the runtime of your choice.

usage
  windlass                                      a tour with the embedded demo server
  windlass list SERVER                          what a server offers
  windlass call TOOL [ARGUMENT…] SERVER         call a tool, with its progress shown live
  windlass ping SERVER                          is the server there, and how fast
  windlass login URL                            log in at a server, in a browser on this machine; what is granted is
                                                stored, and all other commands use it
    --no-browser                                print the page, and do not open it
    --device                                    log in on any other device, with a code that is printed
    --print-url                                 print the page and end; `--finish ADDRESS` goes on with the address that
                                                the browser has ended up at (`-` reads it from standard input)
    --redirect-uri URI                          where that is, for `--print-url`, if the client was registered with it
    --client-credentials                        nobody logs in: the client itself does, as in CI
    --client-id ID                              a client that the authorization server knows; others register themselves
    --client-secret-from VARIABLE               its password, in an environment variable; it is stored with what is
                                                granted, for refreshing that, unless it is for --client-credentials
    --client-metadata-url URL                   where a document about this client is published
    --scope SCOPE                               what to ask for, in place of what the server says; more than once
    --timeout SECONDS                           how long to wait for the user: 300 if nothing is said
  windlass logout URL | --all                   forget what is stored
  windlass auth status [URL]                    what is stored, without its secrets; of a URL, whether it will do (else 3)
  windlass serve                                be the demo server, on standard input and output
  windlass serve --http ADDRESS                 be it over HTTP, at an address such as 127.0.0.1:8080; port 0 takes
                                                any that is free; its URL is printed, and Ctrl-C ends it
    --cert FILE --key FILE                      over HTTPS, with this certificate (and its chain) and its key, in PEM
    --allow-host NAME                           answer to this name, too, such as mcp.example; may be given more than once
    --allow-origin ORIGIN                       let web pages of this origin call it, such as https://app.example, and no
                                                others; may be given more than once
  windlass help | --version

the SERVER
  -- COMMAND ARGS…   a program to start, which speaks on its standard input and output; it comes last
  URL                one that is reached over HTTP: http://… or https://…

arguments of a tool
  key=value      read as the type that the tool's schema gives to the key
  key:=JSON      read as JSON, whatever the schema says
  {\"key\": …}     one JSON object with all arguments

options, before the `--`
  --runtime R        blocking (default), mio, tokio, async-std or smol
  --era E            auto (default), legacy (up to 2025-11-25) or modern (2026-07-28)
  --timeout SECONDS  how long the whole command may take, from starting the server to its last answer, whatever the
                     server says meanwhile; 0 waits for ever. Without it: 600, and 30 for a server that says nothing
                     (600 on a terminal, where it may have asked you something)
  --json             print the whole result as JSON; an error is one line of JSON on standard error

options for a URL
  --header 'NAME: VALUE'  send this header with every request; may be given more than once
  --header-from VARIABLE  the same, with `NAME: VALUE` taken from an environment variable, so that a secret is neither
                          in the history of your shell nor in the list of processes
  --ca FILE               trust the certificate authorities in this PEM file as well
  --allow-local           let authorization lead to http and to private addresses: for development
  --allow-auth-host HOST  let an authorization server have this host, too; may be given more than once
  --stored-auth-only      use what is stored and begin no login, which all commands but `login` do anyway
  --insecure              trust any certificate, for tests: whoever is in between can read and change everything
What `windlass login` has stored is used, and refreshed, unless a header `Authorization` is given.
Proxies are taken from http_proxy, https_proxy, all_proxy and no_proxy, as curl does.

Results go to standard output; progress, logs and what the server says on its standard error go to standard error.
What a server says is shown with its control characters as escapes, so that it cannot steer the terminal; `--json` has
it as it is. If it says too much without being asked, part of it is left out, and counted.
A server gets the essentials of the environment only; for more, start it with `env`: `-- env TOKEN=… COMMAND …`.

exit codes
  0 done   1 wrong usage   3 the server wants a login, or another one   4 it cannot be reached, is gone or takes too long
  5 the tool reported an error, or the server answered with one   6 the result could not be written
  130 Ctrl-C, 143 SIGTERM, 129 SIGHUP: the call is cancelled and the server ended first; a second one kills it at once

examples
  windlass call countdown steps=10 -- windlass serve
  windlass call countdown steps=10 http://127.0.0.1:8080/mcp
  windlass login https://mcp.example/mcp && windlass list https://mcp.example/mcp
";

/// What there is to know of one command, or of everything, if that is none.
pub(crate) fn about(command: Option<&str>) -> String {
    let usage = HELP.lines().skip_while(|line| *line != "usage").skip(1).take_while(|line| !line.is_empty());
    let (mut part, mut is_its) = (String::new(), false);
    for line in usage {
        if let Some(words) = line.strip_prefix("  windlass") {
            is_its = command.is_some() && words.split_ascii_whitespace().next() == command;
        }
        if is_its {
            part += &format!("{line}\n");
        }
    }
    match part.as_str() {
        "" => HELP.to_owned(),
        part => {
            format!(
                "usage\n{part}\n`windlass help` tells the rest: the SERVER, arguments of a tool, and more options\n"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_part_of_the_help() {
        let login = about(Some("login"));
        assert!(login.starts_with("usage\n  windlass login URL ") && login.contains("    --scope SCOPE"), "{login}");
        assert!(!login.contains("windlass list") && !login.contains("logout") && login.contains("windlass help"));
        assert_eq!(about(Some("serve")).matches("  windlass serve").count(), 2);
        for command in ["list", "call", "ping", "logout", "auth"] {
            assert!(about(Some(command)).lines().count() < 6, "{command}");
        }
        for all in [None, Some("nonsense"), Some("")] {
            assert_eq!(about(all), HELP, "{all:?}");
        }
    }
}
