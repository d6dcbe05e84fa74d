/* The least that a recorder on a terminal can cost: a command on a pseudo-terminal of its own, its bytes
 * copied to a file and to the user, keys the other way. `benches/compare` measures others beside it.
 * cc -O2 -o floor floor.c; floor LOG COMMAND [ARG...] */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static char buffer[65536];

static void put(int fd, ssize_t count) {
    for (ssize_t done = 0; done < count;) {
        ssize_t some = write(fd, buffer + done, count - done);
        if (some < 0) {
            if (errno == EINTR) continue;
            exit(1);
        }
        done += some;
    }
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    int log = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (log < 0 || master < 0 || grantpt(master) || unlockpt(master)) return 1;
    struct termios modes, raw;
    int terminal = tcgetattr(0, &modes) == 0;
    struct winsize size;
    if (terminal) {
        if (ioctl(0, TIOCGWINSZ, &size) == 0) ioctl(master, TIOCSWINSZ, &size);
        raw = modes;
        cfmakeraw(&raw);
        tcsetattr(0, TCSANOW, &raw);
    }
    pid_t child = fork();
    if (child == 0) {
        setsid();
        int slave = open(ptsname(master), O_RDWR);
        if (terminal) tcsetattr(slave, TCSANOW, &modes);
        for (int fd = 0; fd < 3; fd++) dup2(slave, fd);
        if (slave > 2) close(slave);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    struct pollfd ends[2] = {{master, POLLIN, 0}, {terminal ? 0 : -1, POLLIN, 0}};
    for (;;) {
        if (poll(ends, 2, -1) < 0 && errno != EINTR) break;
        if (ends[0].revents) {
            ssize_t count = read(master, buffer, sizeof buffer);
            if (count <= 0) break; /* nobody holds the other end */
            put(log, count);
            put(1, count);
        }
        if (ends[1].revents) {
            ssize_t count = read(0, buffer, sizeof buffer);
            if (count <= 0) ends[1].fd = -1;
            else put(master, count);
        }
    }
    int status;
    waitpid(child, &status, 0);
    if (terminal) tcsetattr(0, TCSANOW, &modes);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
