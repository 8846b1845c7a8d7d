#include "apiserver/store_metrics.h"

#include "base/metrics_text.h"

namespace porthole::apiserver {

void append_store_metrics(const store::Store& store, const ResourceTable& resources, std::string& out) {
    const MetricFamily objects(out, "apiserver_storage_objects", "gauge", "Stored objects by resource.");
    for (const Resource* resource : resources.all_stored())
        objects.add(metric_label("resource", qualified_resource(*resource->kind)), store.count(resource->prefix));
    MetricFamily(out, "apiserver_storage_revision", "counter", "The newest resource version.").add("", store::to_string(store.revision()));

    const store::Store::Usage usage = store.usage();
    const auto gauge = [&](const char* name, const char* help, std::size_t value) {
        MetricFamily(out, name, "gauge", help).add("", value);
    };
    gauge("apiserver_storage_size_bytes", "Bytes of keys and values in the store, its history included.",
          usage.live_bytes + usage.history_bytes);
    gauge("porthole_store_history_bytes", "Those of them that only the history holds.", usage.history_bytes);
    gauge("porthole_store_quota_bytes", "Size beyond which creates and updates are refused; 0: none.", usage.quota_bytes);
    gauge("porthole_store_quota_exceeded", "1 while creates and updates are refused.", usage.exceeded);
}

}  // namespace porthole::apiserver
