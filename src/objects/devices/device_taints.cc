#include "objects/devices/device_taints.h"

namespace porthole::objects {

bool tolerates(const api::resource::v1::DeviceToleration& toleration, const api::resource::v1::DeviceTaint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (!toleration.key.empty() && toleration.key != taint.key) return false;
    if (toleration.operator_ == "Exists") return true;
    return (toleration.operator_.empty() || toleration.operator_ == "Equal") && toleration.value == taint.value;
}

}  // namespace porthole::objects
