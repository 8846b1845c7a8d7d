#pragma once
#include <array>
#include <string>
#include <vector>

#include "api/kubescheduler_v1.h"
#include "scheduler/framework/configuration.h"
#include "schema/fields/field_errors.h"

namespace porthole::scheduler {

/// Which plugins each Point calls, by upstream's rules for `enabled`, `disabled` and `multiPoint`. `path` leads to `given`. What has no
/// effect becomes a warning of `errors`.
std::array<std::vector<PluginUse>, PointCount> plugin_uses(const api::kubescheduler::v1::Plugins& given, const schema::FieldPath& path,
                                                           schema::FieldErrors& errors);

}  // namespace porthole::scheduler
