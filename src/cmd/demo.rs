//! `rec demo`: a failure that really happens on this machine, recorded and explained.
//!
//! A stand-in server writes a log and is ended; then a restart is sent the way ssh would send it,
//! through `bash -c`, with a `pkill -f` whose pattern the shell's own command line holds. The shell
//! kills itself, nothing after it runs, and the looks that follow show the old log and no script.
//! Everything lies in one temporary folder, the pattern is unique, and the processes are its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;

use crate::capture::quiet::{self, Recording};
use crate::capture::session;
use crate::cli::Demo;
use crate::cmd::desk::Desk;
use crate::cmd::page::wrapped;
use crate::cmd::paint::Paint;
use crate::cmd::verbs::say;
use crate::cmd::{judge, next, why};
use crate::id::CommandId;
use crate::report::CommandError;
use crate::shell::quote;

/// The temporary folder, removed with all in it when the demo ends.
struct Stage {
    folder: PathBuf,
    name: String,
}

impl Stage {
    fn set() -> anyhow::Result<Self> {
        let id = CommandId::new().short();
        let id = id.trim_start_matches("c-");
        let folder = std::env::temp_dir().join(format!("casebook-demo-{id}"));
        std::fs::create_dir(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self {
            folder,
            name: format!("toyserver-{id}"),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Nothing of the demo is left behind; a folder that cannot go is no failure of it.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs the demo; it ends by itself with 0.
///
/// # Errors
/// When the home cannot be written, or bash or pkill are missing.
pub async fn run(args: &Demo) -> Result<ExitCode, CommandError> {
    for program in ["bash", "pkill", "pgrep"] {
        if !is_there(program) {
            return Err(CommandError::from(anyhow::anyhow!(
                "the demo needs {program}, which is not here"
            ))
            .hint("on Debian: apt-get install bash procps"));
        }
    }
    let listen = if args.serve {
        Some(crate::cmd::serve::address(&args.listen)?)
    } else {
        None
    };
    let desk = Desk::open().await?;
    if desk.store.is_read_only() {
        return Err(
            CommandError::from(anyhow::anyhow!("the home cannot be written"))
                .hint("set REC_HOME to a folder of yours"),
        );
    }
    desk.home.prepare()?;
    let stage = Stage::set()?;
    let id = judge::begin(&desk, "Demo: a restart that never happened").await?;
    say("A stand-in server was running; now it is restarted, the way ssh would do it.\n\n");
    old_run(&stage)?;
    let text = restart(&stage);
    let log = quote::quote(&stage.path("server.log").display().to_string());
    let script = quote::quote(&stage.path("run.sh").display().to_string());
    let looks = [
        text,
        format!("tail -3 {log}"),
        format!("pgrep -fa {}; echo looked", stage.name),
        format!("ls -l {script}"),
    ];
    for (number, text) in (1..).zip(&looks) {
        let argv: Vec<OsString> = ["bash", "-c", text].iter().map(OsString::from).collect();
        let line = quote::join(&["bash".to_owned(), "-c".to_owned(), text.clone()]);
        say(&format!("#{number}  {}\n", line.replace('\n', "\n    ")));
        session::register(&desk.home, id, number + 1)?;
        quiet::record(&Recording {
            home: desk.home.clone(),
            session: id,
            number,
            line: Some(line),
            argv,
            cwd: None,
            env: Vec::new(),
        })?;
    }
    let folder = stage.folder.clone();
    drop(stage);
    desk.close().await;

    let desk = Desk::open().await?;
    let view = desk.view(id).await?;
    let diagnosis = desk.diagnose(&view).await?;
    let paint = Paint::of_stdout(false);
    let header = crate::cmd::timeline::heading(&view);
    say("\n$ rec why\n");
    say(&why::render(&diagnosis, &header, paint));
    say("\n$ rec next\n");
    say(&next::render(&diagnosis.next, paint, false));
    let gone = format!(
        "On a real server these would be yours to run; here {} is gone again, and looks at it find nothing.",
        folder.display()
    );
    say(&format!("\n{}\n", wrapped(&gone, paint.width).join("\n")));
    say(&format!(
        "\nThe session is kept: rec timeline {0} · rec show 1 --session {0} · rec serve\n",
        id.short()
    ));
    let home = desk.home.clone();
    desk.close().await;
    match listen {
        Some(listen) => crate::cmd::serve::at(&home, listen).await,
        None => Ok(ExitCode::SUCCESS),
    }
}

fn is_there(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

/// The run before: the stand-in server writes its log and is ended by its own id.
fn old_run(stage: &Stage) -> anyhow::Result<()> {
    let script = stage.path(&stage.name);
    std::fs::write(
        &script,
        "echo \"$0: listening on 8000\"\nread -r line\necho \"$0: shutting down\"\n",
    )?;
    let log = std::fs::File::create(stage.path("server.log"))?;
    let mut server = Command::new("bash")
        .arg(&script)
        .stdin(Stdio::piped())
        .stdout(log)
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start the stand-in server")?;
    drop(server.stdin.take()); // the end of its input is its sign to stop
    server
        .wait()
        .context("cannot wait for the stand-in server")?;
    Ok(())
}

/// The restart as a person types it: kill, write the script, launch.
fn restart(stage: &Stage) -> String {
    let name = &stage.name;
    let folder = display(&stage.folder);
    format!(
        "pkill -9 -f {name}; sleep 1\n\
         cat > {folder}/run.sh << \"END\"\n\
         #!/bin/bash\n\
         exec bash {folder}/{name}\n\
         END\n\
         chmod +x {folder}/run.sh\n\
         nohup {folder}/run.sh > {folder}/server.log 2>&1 &\n\
         echo \"PID=$!\""
    )
}

fn display(path: &Path) -> String {
    quote::quote(&path.display().to_string())
}
