#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/configuration/read_file.h"
#include "scheduler/framework/configuration.h"

namespace porthole::scheduler {

/// A configuration that has been read, and what of it has no effect, one sentence for each field.
struct ReadConfiguration {
    Configuration configuration;
    std::vector<std::string> warnings;
};

/// Reads a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, YAML or JSON. Error: BadRequest with one line for each problem,
/// which begins with the path of the field. `read_file` may be empty if there are none.
Result<ReadConfiguration> read_configuration(std::string_view text, const ReadFile& read_file = {});

}  // namespace porthole::scheduler
