#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scheduler/framework/configuration.h"

namespace porthole::scheduler {

/// A configuration that has been read, and what of it has no effect, one sentence for each field.
struct ReadConfiguration {
    Configuration configuration;
    std::vector<std::string> warnings;
};

/// The content of a file that the configuration names.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// Reads a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, YAML or JSON. Error: BadRequest with one line for each problem,
/// which begins with the path of the field. `read_file` may be empty if there are none.
Result<ReadConfiguration> read_configuration(std::string_view text, const ReadFile& read_file = {});

}  // namespace porthole::scheduler
