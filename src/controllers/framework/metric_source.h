#pragma once
#include <string>

namespace porthole::controllers {

/// Implemented by controllers with their own metrics; ControllerManager::append_metrics() finds them.
class MetricSource {
public:
    virtual ~MetricSource() = default;
    /// Appends metrics in Prometheus' text form. Called on the controllers' loop.
    virtual void append_metrics(std::string& out) const = 0;
};

}  // namespace porthole::controllers
