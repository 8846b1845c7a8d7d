#pragma once

namespace porthole::cmd {

/// If the program is linked statically with glibc: makes it look up host names by its built-in sources, /etc/hosts and then DNS, regardless
/// of /etc/nsswitch.conf. Other sources are shared libraries, which must not come from another version of glibc. No effect otherwise. Call
/// it before the first thread.
void use_own_name_service();

}  // namespace porthole::cmd
