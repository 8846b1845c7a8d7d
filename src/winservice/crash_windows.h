#pragma once

namespace porthole::winservice {

/// After this call, an unhandled exception of the processor ends this process immediately, with the exception's code as exit code and a
/// line on standard error with the code and the address in the program's file. (One of C++ ends it as abort() does, with exit code 3 and
/// the runtime's line about the exception.) Otherwise the system may show a message box and wait, which no recovery action of a service
/// detects: Wine does so even after SetErrorMode(SEM_NOGPFAULTERRORBOX).
void end_on_unhandled_exceptions();

}  // namespace porthole::winservice
