//! How Windows has to be asked to start a program, as a pure function that is tested on every platform.
//!
//! `CreateProcess` adds only `.exe` to a bare name, so `npx` (which is `npx.cmd`) is not found; and it cannot run a
//! `.cmd` or `.bat` file without `cmd.exe`, which reads its command line by rules of its own. Here the program is
//! looked up as a shell would do it, and the command line is quoted so that both `cmd.exe` and the program that the
//! script starts see the arguments as they were given.

use std::fmt;

/// What `cmd.exe` accepts: a longer command line is cut or refused, so it is not tried.
const CMD_COMMAND_LINE_LIMIT: usize = 8_191;

/// What Windows uses when `PATHEXT` is not set, as far as a program can be started from it.
const DEFAULT_PATH_EXTENSIONS: &str = ".COM;.EXE;.BAT;.CMD";

/// Where Windows is when `SYSTEMROOT` is not set.
const DEFAULT_SYSTEM_ROOT: &str = r"C:\Windows";

/// Switches of `cmd.exe`: extensions on (the escape of `%` needs them), no expansion of `!`, no start-up commands from
/// the registry, and strip just the outer quotes of what follows `/c`.
const CMD_SWITCHES: [&str; 5] = ["/e:ON", "/v:OFF", "/d", "/s", "/c"];

/// Expands to nothing: the empty part of a variable that always exists. After a `%` it keeps that `%` from starting the
/// name of a variable; quotes and carets do not.
const NOTHING: &str = "%cd:~,%";

/// The parts of the child's environment that decide where a program is found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a> {
    /// `PATH`.
    pub path: &'a str,
    /// `PATHEXT`; empty means the default of Windows.
    pub path_extensions: &'a str,
    /// `SYSTEMROOT`, where `cmd.exe` lives; empty means the default of Windows.
    pub system_root: &'a str,
    /// The directory that the child starts in; empty means the parent's.
    pub cwd: &'a str,
}

/// What to hand to the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnPlan {
    /// The program to start.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Whether the arguments are quoted already and have to reach the command line as they are, with a space between.
    pub verbatim: bool,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// No such program, with any of the extensions that can be started.
    NotFound,
    /// An argument of a script holds a character that `cmd.exe` cannot be given: a line break or a NUL.
    UnquotableArgument {
        /// Which one, counted from zero.
        index: usize,
    },
    /// The path of the script holds a quote, a line break or a NUL.
    UnquotableProgram,
    /// The command line is longer than `cmd.exe` accepts.
    TooLong,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("the program was not found"),
            Self::UnquotableArgument { index } => write!(
                f,
                "argument {index} holds a line break or a NUL, which cannot be given safely to a .cmd or .bat script"
            ),
            Self::UnquotableProgram => f.write_str("the path of the script holds a quote, a line break or a NUL"),
            Self::TooLong => {
                write!(f, "the command line is longer than the {CMD_COMMAND_LINE_LIMIT} characters of cmd.exe")
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Finds the program and says how to start it. `exists` says whether a path is a file.
///
/// ```
/// use windlass_host::process::windows_plan::{Surroundings, plan};
///
/// let surroundings = Surroundings { path: r"C:\nodejs", ..Surroundings::default() };
/// let exists = |path: &str| path.eq_ignore_ascii_case(r"C:\nodejs\npx.cmd");
/// let plan = plan("npx", &["-y", "a b"], surroundings, exists)?;
/// assert_eq!(plan.program, r"C:\Windows\System32\cmd.exe");
/// assert_eq!(plan.args.last().unwrap(), r#"""C:\nodejs\npx.CMD" "-y" "a b"""#);
/// # Ok::<(), windlass_host::process::windows_plan::PlanError>(())
/// ```
///
/// # Errors
///
/// When there is no such program, or when it is a script and an argument cannot be passed to it unchanged.
pub fn plan(
    program: &str,
    args: &[impl AsRef<str>],
    surroundings: Surroundings<'_>,
    exists: impl Fn(&str) -> bool,
) -> Result<SpawnPlan, PlanError> {
    let found = resolve(program, surroundings, exists).ok_or(PlanError::NotFound)?;
    if !is_script(&found) {
        let args = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
        return Ok(SpawnPlan { program: found, args, verbatim: false });
    }

    let program = command_interpreter(surroundings.system_root);
    let command_line = script_command_line(&found, args)?;
    let args: Vec<String> = CMD_SWITCHES.iter().map(|switch| (*switch).to_owned()).chain([command_line]).collect();
    // Windows counts its limit in UTF-16 units; the quotes around the program and the spaces count too.
    let length: usize = args.iter().map(|arg| arg.encode_utf16().count() + 1).sum::<usize>() + program.len() + 2;
    if length > CMD_COMMAND_LINE_LIMIT {
        return Err(PlanError::TooLong);
    }
    Ok(SpawnPlan { program, args, verbatim: true })
}

/// Unlike `cmd.exe`, and like PowerShell, a bare name is not looked for in the working directory: a project that is
/// opened there could bring its own `npx.cmd`.
fn resolve(program: &str, surroundings: Surroundings<'_>, exists: impl Fn(&str) -> bool) -> Option<String> {
    if program.is_empty() {
        return None;
    }
    let extensions = startable_extensions(surroundings.path_extensions);
    if is_path(program) {
        let path = if is_absolute(program) { program.to_owned() } else { join(surroundings.cwd, program) };
        let exact = || (extension(&path).is_some() && exists(&path)).then(|| path.clone());
        return with_extension(&path, &extensions, &exists).or_else(exact);
    }
    path_directories(surroundings.path)
        .into_iter()
        .find_map(|directory| with_extension(&join(&directory, program), &extensions, &exists))
}

/// The path itself if its name already says how to start it, else the first extension that makes it a file. A file
/// without extension is passed over: beside `npx.cmd` lies `npx`, a script for Unix shells.
fn with_extension(path: &str, extensions: &[String], exists: &impl Fn(&str) -> bool) -> Option<String> {
    let startable = extension(path).is_some_and(|own| extensions.iter().any(|known| known.eq_ignore_ascii_case(own)));
    if startable && exists(path) {
        return Some(path.to_owned());
    }
    extensions.iter().map(|extension| format!("{path}{extension}")).find(|candidate| exists(candidate))
}

/// Those of `PATHEXT`, in its order, that are programs or batch scripts. The others, such as `.JS`, are documents that
/// would open in whatever program claims them.
fn startable_extensions(path_extensions: &str) -> Vec<String> {
    let listed = if path_extensions.trim().is_empty() { DEFAULT_PATH_EXTENSIONS } else { path_extensions };
    let startable = |extension: &str| {
        DEFAULT_PATH_EXTENSIONS.split(';').any(|known| known.eq_ignore_ascii_case(extension)).then(|| extension.into())
    };
    listed.split(';').map(str::trim).filter_map(startable).collect()
}

/// `PATH` is separated by `;`, except between quotes, which are not part of the name.
fn path_directories(path: &str) -> Vec<String> {
    let mut directories = vec![String::new()];
    let mut quoted = false;
    for character in path.chars() {
        match character {
            '"' => quoted = !quoted,
            ';' if !quoted => directories.push(String::new()),
            _ => directories.last_mut().expect("there is always one").push(character),
        }
    }
    directories.retain(|directory| !directory.is_empty());
    directories
}

fn is_path(program: &str) -> bool {
    program.contains(['\\', '/', ':'])
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['\\', '/']) || path.as_bytes().get(1) == Some(&b':')
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() || directory.ends_with(['\\', '/']) {
        format!("{directory}{name}")
    } else {
        format!("{directory}\\{name}")
    }
}

/// With its dot. Windows ignores dots and spaces at the end of a name, so `run.bat. ` is a batch script too.
fn extension(path: &str) -> Option<&str> {
    let path = path.trim_end_matches(['.', ' ']);
    let name = path.rfind(['\\', '/', ':']).map_or(path, |separator| &path[separator + 1..]);
    name.rfind('.').map(|dot| &name[dot..])
}

fn is_script(path: &str) -> bool {
    extension(path).is_some_and(|own| [".cmd", ".bat"].iter().any(|script| own.eq_ignore_ascii_case(script)))
}

/// By its full path: a `cmd.exe` found through the child's `PATH` might be anybody's.
fn command_interpreter(system_root: &str) -> String {
    let root = if system_root.is_empty() { DEFAULT_SYSTEM_ROOT } else { system_root };
    join(root, r"System32\cmd.exe")
}

/// `"` the quoted script and arguments `"`: the switch `/s` makes `cmd.exe` strip just the outer pair.
fn script_command_line(script: &str, args: &[impl AsRef<str>]) -> Result<String, PlanError> {
    if script.contains(['"', '\r', '\n', '\0']) {
        return Err(PlanError::UnquotableProgram);
    }
    let mut line = String::from("\"");
    push_quoted(&mut line, script);
    for (index, arg) in args.iter().enumerate() {
        let arg = arg.as_ref();
        if arg.contains(['\r', '\n', '\0']) {
            return Err(PlanError::UnquotableArgument { index });
        }
        line.push(' ');
        push_quoted(&mut line, arg);
    }
    line.push('"');
    Ok(line)
}

/// Quotes for two readers: `cmd.exe`, which takes `& | < > ^ ( )` literally between quotes, and the program's own
/// parser of arguments, for which backslashes count only before a quote.
///
/// A quote is doubled, not escaped with a backslash: `cmd.exe` does not know the backslash and would believe that the
/// quoted part has ended, so that an `&` after it starts another command.
fn push_quoted(line: &mut String, text: &str) {
    line.push('"');
    let mut backslashes = 0;
    for character in text.chars() {
        if character == '"' {
            line.extend(std::iter::repeat_n('\\', backslashes));
            line.push('"');
        }
        backslashes = if character == '\\' { backslashes + 1 } else { 0 };
        line.push(character);
        if character == '%' {
            line.push_str(NOTHING);
        }
    }
    line.extend(std::iter::repeat_n('\\', backslashes));
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = r"C:\Program Files\nodejs";

    /// Files are compared without case, as on Windows.
    fn among<'a>(files: &'a [&'a str]) -> impl Fn(&str) -> bool + 'a {
        move |path| files.iter().any(|file| file.eq_ignore_ascii_case(path))
    }

    fn surroundings(path: &str) -> Surroundings<'_> {
        Surroundings { path, path_extensions: ".COM;.EXE;.BAT;.CMD;.VBS;.JS", system_root: r"C:\Windows", cwd: "" }
    }

    fn resolved(program: &str, surroundings: Surroundings<'_>, files: &[&str]) -> Option<String> {
        resolve(program, surroundings, among(files))
    }

    /// What stands after `/c`, for a script at `C:\s.cmd`.
    fn quoted(args: &[&str]) -> String {
        let plan = plan(r"C:\s.cmd", args, surroundings(""), among(&[r"C:\s.cmd"])).unwrap();
        assert!(plan.verbatim);
        let line = plan.args.last().unwrap();
        line.strip_prefix(r#"""C:\s.cmd""#).and_then(|rest| rest.strip_suffix('"')).unwrap().trim_start().to_owned()
    }

    /// The arguments that a program built with Microsoft's runtime sees in `line`.
    fn parsed_by_the_runtime(line: &str) -> Vec<String> {
        let (mut args, mut arg, mut quoted, mut started) = (Vec::new(), String::new(), false, false);
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                ' ' if !quoted => {
                    if std::mem::take(&mut started) {
                        args.push(std::mem::take(&mut arg));
                    }
                    continue;
                }
                '\\' => {
                    let mut count = 1;
                    while characters.next_if_eq(&'\\').is_some() {
                        count += 1;
                    }
                    let before_quote = characters.peek() == Some(&'"');
                    arg.extend(std::iter::repeat_n('\\', if before_quote { count / 2 } else { count }));
                    if before_quote && count % 2 == 1 {
                        arg.extend(characters.next());
                    }
                }
                '"' if quoted && characters.next_if_eq(&'"').is_some() => arg.push('"'),
                '"' => quoted = !quoted,
                _ => arg.push(character),
            }
            started = true;
        }
        if started {
            args.push(arg);
        }
        args
    }

    /// Whether `cmd.exe` would see one of its own characters outside of quotes.
    fn is_harmless_to_cmd(line: &str) -> bool {
        let mut quoted = false;
        line.chars().all(|character| {
            quoted ^= character == '"';
            quoted || !"&|<>^()!,;=".contains(character)
        })
    }

    #[test]
    fn npx_is_a_script() {
        let files = [r"C:\Program Files\nodejs\npx", r"C:\Program Files\nodejs\npx.cmd"];
        let plan = plan("npx", &["-y", "server"], surroundings(NODE), among(&files)).unwrap();
        assert_eq!(plan.program, r"C:\Windows\System32\cmd.exe");
        assert_eq!(plan.args[..5], CMD_SWITCHES);
        assert_eq!(plan.args[5], r#"""C:\Program Files\nodejs\npx.CMD" "-y" "server"""#);
        assert!(plan.verbatim);
    }

    #[test]
    fn a_program_needs_no_shell() {
        let files = [r"C:\bin\uvx.exe"];
        let plan = plan("uvx", &["a b", "%PATH%", "x\ny"], surroundings(r"C:\bin"), among(&files)).unwrap();
        let args = ["a b", "%PATH%", "x\ny"].map(str::to_owned).to_vec();
        assert_eq!(plan, SpawnPlan { program: r"C:\bin\uvx.EXE".into(), args, verbatim: false });
    }

    #[test]
    fn a_full_name_is_taken_as_it_is() {
        let files = [r"C:\bin\npx.cmd", r"C:\bin\npx.cmd.exe"];
        assert_eq!(resolved("npx.cmd", surroundings(r"C:\bin"), &files).unwrap(), r"C:\bin\npx.cmd");
    }

    #[test]
    fn a_dot_in_a_name_is_not_an_extension() {
        let files = [r"C:\bin\python3.12.exe", r"C:\bin\python3.12"];
        assert_eq!(resolved("python3.12", surroundings(r"C:\bin"), &files).unwrap(), r"C:\bin\python3.12.EXE");
    }

    #[test]
    fn extensions_are_tried_in_their_order() {
        let files = [r"C:\bin\tool.exe", r"C:\bin\tool.cmd"];
        let found = |path_extensions| {
            resolved("tool", Surroundings { path_extensions, ..surroundings(r"C:\bin") }, &files).unwrap()
        };
        assert_eq!(found(".exe;.cmd"), r"C:\bin\tool.exe");
        assert_eq!(found(".cmd;.exe"), r"C:\bin\tool.cmd");
        assert_eq!(found(""), r"C:\bin\tool.EXE");
        assert_eq!(found(" ; .cmd ;"), r"C:\bin\tool.cmd");
    }

    #[test]
    fn directories_come_before_extensions() {
        let files = [r"C:\first\tool.cmd", r"C:\second\tool.exe"];
        assert_eq!(resolved("tool", surroundings(r"C:\first;C:\second"), &files).unwrap(), r"C:\first\tool.CMD");
    }

    #[test]
    fn documents_are_not_programs() {
        let files = [r"C:\bin\tool.js", r"C:\bin\tool"];
        assert_eq!(resolved("tool", surroundings(r"C:\bin"), &files), None);
        assert_eq!(resolved("tool.js", surroundings(r"C:\bin"), &files), None);
    }

    #[test]
    fn quoted_directories_may_hold_semicolons() {
        let files = [r"C:\a;b\tool.exe"];
        assert_eq!(resolved("tool", surroundings(r#";;"C:\a;b";C:\c"#), &files).unwrap(), r"C:\a;b\tool.EXE");
    }

    #[test]
    fn a_directory_may_end_in_a_separator() {
        assert_eq!(resolved("t", surroundings(r"C:\b\"), &[r"C:\b\t.exe"]).unwrap(), r"C:\b\t.EXE");
    }

    #[test]
    fn relative_paths_start_at_the_working_directory() {
        let there = Surroundings { cwd: r"D:\work", ..surroundings(r"C:\bin") };
        let files = [r"D:\work\.\run.cmd", r"D:\work\bin/run.exe", r"C:\bin\.\run.exe"];
        assert_eq!(resolved(r".\run", there, &files).unwrap(), r"D:\work\.\run.CMD");
        assert_eq!(resolved("bin/run", there, &files).unwrap(), r"D:\work\bin/run.EXE");
    }

    #[test]
    fn bare_names_are_not_sought_in_the_working_directory() {
        let there = Surroundings { cwd: r"D:\work", ..surroundings(r"C:\bin") };
        assert_eq!(resolved("npx", there, &[r"D:\work\npx.cmd"]), None);
    }

    #[test]
    fn absolute_paths_ignore_path_and_working_directory() {
        let there = Surroundings { cwd: r"D:\work", ..surroundings(r"C:\bin") };
        let files = [r"C:\x\run.exe", r"\\host\share\run.exe"];
        assert_eq!(resolved(r"C:\x\run", there, &files).unwrap(), r"C:\x\run.EXE");
        assert_eq!(resolved(r"\\host\share\run.exe", there, &files).unwrap(), r"\\host\share\run.exe");
    }

    #[test]
    fn an_explicit_path_may_have_any_extension() {
        assert_eq!(resolved(r"C:\x\run.bin", surroundings(""), &[r"C:\x\run.bin"]).unwrap(), r"C:\x\run.bin");
    }

    #[test]
    fn what_does_not_exist_is_not_found() {
        for program in ["", "tool", r"C:\tool.exe", r".\tool"] {
            assert_eq!(plan(program, &["a"], surroundings(r"C:\bin"), |_| false), Err(PlanError::NotFound));
        }
    }

    #[test]
    fn a_disguised_script_is_still_a_script() {
        for path in [r"C:\run.BAT", r"C:\run.bat. ", r"C:\run.Cmd.."] {
            assert!(is_script(path), "{path}");
        }
        for path in [r"C:\run.exe", r"C:\x.cmd\run", r"C:\run"] {
            assert!(!is_script(path), "{path}");
        }
    }

    #[test]
    fn arguments_are_quoted() {
        assert_eq!(quoted(&["a b"]), r#""a b""#);
        assert_eq!(quoted(&[""]), r#""""#);
        assert_eq!(quoted(&["", "x"]), r#""" "x""#);
        assert_eq!(quoted(&[r"C:\dir\"]), r#""C:\dir\\""#);
        assert_eq!(quoted(&[r"a\b\\c"]), r#""a\b\\c""#);
        assert_eq!(quoted(&[r#"say "hi""#]), r#""say ""hi""""#);
        assert_eq!(quoted(&[r#"a\"b"#]), r#""a\\""b""#);
        assert_eq!(quoted(&["a^b"]), r#""a^b""#);
    }

    #[test]
    fn percent_signs_do_not_start_a_variable() {
        assert_eq!(quoted(&["%PATH%"]), r#""%%cd:~,%PATH%%cd:~,%""#);
        // Where `cmd.exe` expands the escape, the original is left.
        assert_eq!(quoted(&["100%"]).replace(NOTHING, ""), r#""100%""#);
    }

    #[test]
    fn hostile_arguments_reach_the_program_unchanged() {
        let hostile = [
            r#"" & calc.exe & ""#,
            r#"a"&b"#,
            r#"\" | more"#,
            r#"\\" > C:\file"#,
            "a & b | c < d > e",
            "(x) ^ y ^^",
            "!PATH!",
            "a,b;c=d",
            r"trailing\",
            r"trailing\\",
            "",
            " ",
            "\t",
            r#"""#,
            r#""""#,
            r#"{"key": "a \"b\" c"}"#,
            "ünï©ødé 🦀",
        ];
        for arg in hostile {
            let line = quoted(&[arg]);
            assert!(is_harmless_to_cmd(&line), "{arg:?} as {line}");
            assert_eq!(parsed_by_the_runtime(&line), [arg], "as {line}");
        }
        let all = quoted(&hostile);
        assert!(is_harmless_to_cmd(&all));
        assert_eq!(parsed_by_the_runtime(&all), hostile);
    }

    #[test]
    fn line_breaks_are_refused_for_scripts() {
        for bad in ["a\nb", "a\r", "\0"] {
            let refused = plan(r"C:\s.cmd", &["fine", bad], surroundings(""), |_| true);
            assert_eq!(refused, Err(PlanError::UnquotableArgument { index: 1 }));
        }
    }

    #[test]
    fn a_script_path_with_a_quote_is_refused() {
        let refused = plan("C:\\a\"b.cmd", &["x"], surroundings(""), |_| true);
        assert_eq!(refused, Err(PlanError::UnquotableProgram));
    }

    #[test]
    fn an_overlong_command_line_is_refused() {
        let long = "x".repeat(CMD_COMMAND_LINE_LIMIT);
        assert_eq!(plan(r"C:\s.cmd", &[&long], surroundings(""), |_| true), Err(PlanError::TooLong));
        assert!(plan(r"C:\s.exe", &[&long], surroundings(""), |_| true).is_ok());
    }

    #[test]
    fn the_interpreter_comes_from_the_system_root() {
        let elsewhere = Surroundings { system_root: r"E:\WINNT\", ..surroundings("") };
        assert_eq!(
            plan(r"C:\s.bat", &[] as &[&str], elsewhere, |_| true).unwrap().program,
            r"E:\WINNT\System32\cmd.exe"
        );
    }
}
