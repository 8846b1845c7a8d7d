#pragma once
#include <vector>

#include "api/kubescheduler_v1.h"
#include "scheduler/configuration/read_file.h"
#include "scheduler/framework/configuration.h"
#include "schema/fields/field_errors.h"

namespace porthole::scheduler {

/// The field `extenders`, checked with upstream's messages. Files of certificates and keys are read at once, so that the server does not
/// start without them.
std::vector<ExtenderConfiguration> take_extenders(const std::vector<api::kubescheduler::v1::Extender>& given, const ReadFile& read_file,
                                                  schema::FieldErrors& errors);

}  // namespace porthole::scheduler
