#pragma once
#include <string>
#include <vector>

#include "api/autoscaling_v2.h"
#include "client/client.h"
#include "controllers/framework/resource_names.h"
#include "controllers/horizontal_pod_autoscaler/replica_calculator.h"

namespace porthole::controllers {

/// Reads metrics from the API: resource metrics (metrics.k8s.io), custom and external ones, which extension API servers serve. Their
/// answers are not trusted. Holds no state. Errors of all: the API's, and BadRequest for an answer of another form, both with upstream's
/// message.
class MetricsClient {
public:
    using Identifier = api::autoscaling::v2::MetricIdentifier;

    MetricsClient(client::Client& client, const ResourceNames& names) : client_(client), names_(names) {}

    /// The selected pods' use of a resource, for all their containers or the named one.
    Task<PodMetricValues> of_resource(std::string namespace_, std::string selector, std::string resource, std::string container);
    /// A custom metric of the selected pods.
    Task<PodMetricValues> of_pods(std::string namespace_, std::string selector, Identifier metric);
    /// A custom metric of one object, in thousandths.
    Task<std::int64_t> of_object(std::string namespace_, api::autoscaling::v2::CrossVersionObjectReference object, Identifier metric);
    /// The sum of all values of an external metric, in thousandths.
    Task<std::int64_t> external(std::string namespace_, Identifier metric);

private:
    Task<std::string> custom_metrics_path();
    Task<schema::Value> items(std::string path, std::string query, const char* api);

    client::Client& client_;
    const ResourceNames& names_;
};

}  // namespace porthole::controllers
