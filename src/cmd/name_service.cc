#include "cmd/name_service.h"

#include <nss.h>

namespace porthole::cmd {

void use_own_name_service() {
#ifdef PORTHOLE_STATIC
    __nss_configure_lookup("hosts", "files dns");
#endif
}

}  // namespace porthole::cmd
