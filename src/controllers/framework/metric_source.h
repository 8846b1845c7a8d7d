#pragma once
#include <string>

namespace porthole::controllers {

/// A controller with metrics of its own also implements this; ControllerManager::append_metrics() finds it.
class MetricSource {
public:
    virtual ~MetricSource() = default;
    /// Appends metrics in Prometheus' text form. Called on the controllers' loop.
    virtual void append_metrics(std::string& out) const = 0;
};

}  // namespace porthole::controllers
