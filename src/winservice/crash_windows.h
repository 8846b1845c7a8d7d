#pragma once

namespace porthole::winservice {

/// From here on an exception of the processor or of C++ that is not handled ends this process at once, with the exception's code as exit
/// code and a line on standard error that names the code and the place in the program's file. Without it the system may show a message box
/// and wait, which no recovery action of a service notices: Wine does so even after SetErrorMode(SEM_NOGPFAULTERRORBOX).
void end_on_unhandled_exceptions();

}  // namespace porthole::winservice
