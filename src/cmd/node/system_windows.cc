#include "cmd/node/system.h"

namespace porthole::cmd {

const NetworkSystem OwnNetworkSystem{proxy::System::Windows, ';', ".exe"};

}  // namespace porthole::cmd
