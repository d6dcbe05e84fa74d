//! What is not on record of a session: ends that nobody saw, output that was lost, what was erased.
//! A diagnosis is silent about what it could not see; whoever shows one says this beside it.

use serde::Serialize;

use crate::diagnosis::words::size;
use crate::event::Exit;
use crate::id::CommandId;
use crate::projection::SessionView;

/// What is not on record of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The command.
    pub command_id: CommandId,
    /// Its number.
    pub number: u32,
    /// Its line.
    pub line: String,
    /// Nobody saw how it ended.
    pub end: bool,
    /// Bytes of output that were printed and are not on record.
    pub gap_bytes: u64,
    /// Its content was erased on demand.
    pub erased: bool,
}

impl Missing {
    /// It in one sentence, without the full stop.
    pub fn says(&self) -> String {
        let number = self.number;
        let lost = match (self.end, self.gap_bytes) {
            (_, _) if self.erased => return format!("what #{number} was and printed was erased"),
            (true, 0) => return format!("nobody saw how #{number} ended"),
            (true, bytes) => format!("how #{number} ended, and {} of its output,", size(bytes)),
            (false, bytes) => format!("{} of what #{number} printed", size(bytes)),
        };
        let verb = if self.end { "are" } else { "is" };
        format!("{lost} {verb} not on record")
    }
}

/// What is not on record, in the order of the commands.
pub fn missing(view: &SessionView) -> Vec<Missing> {
    view.commands
        .iter()
        .zip(&view.details)
        .map(|(command, detail)| Missing {
            command_id: command.id,
            number: command.number,
            line: command.line.clone(),
            end: command.exit == Exit::Lost,
            gap_bytes: detail.gap_bytes,
            erased: detail.erased,
        })
        .filter(|missing| missing.end || missing.gap_bytes > 0 || missing.erased)
        .collect()
}
