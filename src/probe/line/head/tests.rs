use super::read;

#[test]
fn prefixes_of_many_loggers_are_read() {
    // (line, level, worker, message)
    let cases = [
        (
            "[2026-11-30 10:42:49] server_args={}",
            "",
            "",
            "server_args={}",
        ),
        (
            "[2026-11-30 10:42:52 TP0] Load weight begin.",
            "",
            "TP0",
            "Load weight begin.",
        ),
        (
            "[2026-11-30 12:03:18 +0000] [106] [INFO] Starting gunicorn",
            "info",
            "106",
            "Starting gunicorn",
        ),
        (
            "INFO:     Application startup complete.",
            "info",
            "",
            "    Application startup complete.",
        ),
        ("ERROR:root:it broke", "error", "", "root:it broke"),
        (
            "2026-11-30 12:03:02,402 reranker INFO queue=0",
            "info",
            "",
            "queue=0",
        ),
        (
            "[2026-11-30 12:04:28,611] INFO root: loading",
            "info",
            "",
            "root: loading",
        ),
        (
            "2025-07-24 10:02:11,273 - asyncio - ERROR - socket.accept()",
            "error",
            "",
            "socket.accept()",
        ),
        (
            "E1130 11:58:23.742000 1358 torch/run.py:986] failed (exitcode: 1)",
            "error",
            "1358",
            "failed (exitcode: 1)",
        ),
        (
            "[rank1]:[W516 14:34:56.853490829 socket.cpp:464] [c10d] waitForInput",
            "warning",
            "rank1",
            "waitForInput",
        ),
        (
            "[rank1]:   File \"x.py\", line 38, in <module>",
            "",
            "rank1",
            "  File \"x.py\", line 38, in <module>",
        ),
        (
            "(EngineCore pid=151) INFO 05-20 20:34:50 [core.py:1] No block",
            "info",
            "EngineCore pid=151",
            "No block",
        ),
        (
            "(Worker_TP0 pid=1) ERROR 05-20 20:34:50 [a.py:1]   File \"x\", line 1",
            "error",
            "Worker_TP0 pid=1",
            "  File \"x\", line 1",
        ),
        (
            "INFO     11-30 12:04:03 ocr_serve.py:30] starting",
            "info",
            "",
            "starting",
        ),
        (
            "11-30 11:56:59.835 [rank 1] INFO: process group up",
            "info",
            "rank 1",
            "process group up",
        ),
        (
            "gpu-d4:18331:18402 [2] NCCL INFO Connected all trees",
            "info",
            "gpu-d4:18331 [2]",
            "Connected all trees",
        ),
        (
            "h-1:946:988 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got",
            "warning",
            "h-1:946 [0]",
            "NET/IB : Got",
        ),
        (
            "Nov 30 12:07:34 rerank[3579]: boot",
            "",
            "rerank[3579]",
            "boot",
        ),
        (
            "Feb 24 09:28:28 ip-10 systemd[1]: failed",
            "",
            "systemd[1]",
            "failed",
        ),
        ("[Tue Mar  4 09:01:12 2025] NVRM: Xid", "", "", "NVRM: Xid"),
        ("[  123.456789] eth0: link up", "", "", "eth0: link up"),
        (
            "103:M 30 Nov 2026 12:09:32.430 # Failed listening",
            "warning",
            "103:M",
            "Failed listening",
        ),
        (
            "2026-11-30 11:58:07.231 UTC [136] FATAL:  could not create",
            "fatal",
            "136",
            " could not create",
        ),
        (
            "2026/11/30 12:07:34 [emerg] 12#12: bind() failed",
            "fatal",
            "",
            "12#12: bind() failed",
        ),
        (
            "[2025-06-13 01:49:41,730 E 1 1] gcs.h:179: Failed",
            "error",
            "1 1",
            "gcs.h:179: Failed",
        ),
        ("[1,0]<stderr>:Traceback", "", "1,0", "Traceback"),
        ("web-1  | listening on 80", "", "web-1", "listening on 80"),
        ("(raylet) x", "", "", "(raylet) x"),
        (
            "torch.OutOfMemoryError: CUDA out of memory.",
            "error",
            "",
            "torch.OutOfMemoryError: CUDA out of memory.",
        ),
        (
            "time=\"2026-11-30T10:00:00Z\" level=warning msg=\"x\"",
            "warning",
            "",
            "time=\"2026-11-30T10:00:00Z\" level=warning msg=\"x\"",
        ),
        (
            "{\"level\":50,\"time\":1796039881000,\"msg\":\"x\"}",
            "error",
            "",
            "{\"level\":50,\"time\":1796039881000,\"msg\":\"x\"}",
        ),
        (
            "  File \"x.py\", line 1, in f",
            "",
            "",
            "  File \"x.py\", line 1, in f",
        ),
        ("I am here", "", "", "I am here"),
        ("info about the thing", "", "", "info about the thing"),
        (
            "error: argument --data",
            "error",
            "",
            "error: argument --data",
        ),
        ("12:08:24 saved snapshot", "", "", "saved snapshot"),
        (
            "2026-11-30 12:06:49,613 INFO gave up: scheduler entered FATAL state",
            "info",
            "",
            "gave up: scheduler entered FATAL state",
        ),
    ];
    for (line, level, worker, message) in cases {
        let head = read(line);
        assert_eq!(head.level, level, "level of {line}");
        assert_eq!(
            head.worker.as_deref().unwrap_or(""),
            worker,
            "worker of {line}"
        );
        assert_eq!(&line[head.body..], message, "message of {line}");
    }
    assert!(read("{\"level\":50,\"time\":1796039881000}").when.is_some());
}
