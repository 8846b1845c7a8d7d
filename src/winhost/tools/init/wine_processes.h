#pragma once
#include <sys/types.h>

namespace porthole::winhost {

/// Linux' processes behind what Wine knows. A Windows process that the kernel kills, as where memory is short, has ended with 0 for Wine,
/// as if it had done all it should; and without Wine's server nothing of a container ends any more. Only who reaps them knows better.
struct WineProcesses {
    pid_t program = 0;  ///< the one that `launcher` has started; 0: it has ended already
    pid_t server = 0;   ///< of the container
};

/// SIGKILL to all processes of a session. Wine leaves what a program starts to the first process, but in the program's session.
void kill_session(pid_t leader);

/// Requires that `launcher`, the first process of its session, has started its program.
WineProcesses find_wine_processes(pid_t launcher);

}  // namespace porthole::winhost
