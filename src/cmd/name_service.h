#pragma once

namespace porthole::cmd {

/// Where the program is linked statically with glibc: host names are looked up by what is part of it, /etc/hosts and then DNS, whatever
/// /etc/nsswitch.conf says. Other sources are shared libraries, which must not come from a glibc of another version. Harmless
/// elsewhere. Call it before the first thread.
void use_own_name_service();

}  // namespace porthole::cmd
