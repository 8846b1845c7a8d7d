/* What differs between Linux and Windows for the programs of this folder. "system.h" is that of `linux/` or of `windows/`: the headers of
 * sockets, the type Socket with NoSocket, and the constants SystemName, SiteFolder and TimedOut.
 */
#pragma once
#include "system.h"

/* 0 where sockets cannot be used at all. */
int start_sockets(void);
void close_socket(Socket socket);
/* Of the last call that failed in this thread. */
int last_error(void);
/* How long a receive may take. */
void limit_receive(Socket socket, int milliseconds);
/* Whether calls wait until they are done; they do unless told otherwise. */
void set_waiting(Socket socket, int waits);
void sleep_milliseconds(int milliseconds);
/* Runs `work` beside the caller; `argument` can be a Socket. 0 where no more can be run. */
int run_beside(void (*work)(size_t), size_t argument);
/* Closes `listener` and sets *ending once the system asks this process to end. */
void end_when_asked(Socket listener, volatile int* ending);
