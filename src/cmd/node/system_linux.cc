#include "cmd/node/system.h"

namespace porthole::cmd {

const NetworkSystem OwnNetworkSystem{proxy::System::Linux, ':', ""};

}  // namespace porthole::cmd
