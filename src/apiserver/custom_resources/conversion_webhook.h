#pragma once
#include <array>
#include <set>

#include "apiserver/admission/webhook_caller.h"
#include "apiserver/custom_resources/conversion_review.h"
#include "apiserver/kinds/apiextensions/definition_status.h"
#include "apiserver/strategy/conversion.h"
#include "base/metrics_text.h"
#include "runtime/random.h"
#include "runtime/sync.h"

namespace porthole::apiserver {

/// Counts of calls to conversion webhooks under upstream's names. Beyond 1024 pairs of versions of definitions, all of which can be created
/// at any rate, further ones are counted together under the names "".
class ConversionMetrics {
public:
    struct Call {
        std::string definition, from, to;  ///< the definition's name, and versions
        Duration taken{};
        std::string failure;  ///< ConversionFailure::type; "" for none
    };
    void add(Call call);
    void append(std::string& out) const;

private:
    std::set<std::array<std::string, 3>> named_;     ///< definition, and versions
    std::map<std::string, std::uint64_t> requests_;  // by label text
    std::map<std::string, MetricHistogram> times_, times_by_definition_;
};

/// The webhook of a definition whose spec.conversion names one. At most 64 of its calls are in progress; others wait, at most as long as a
/// call may take: 30 seconds. Lives on one loop; the seams outlive it.
class ConversionWebhook final : public ObjectConverter {
public:
    struct Seams {
        EventLoop& loop;
        Random& random;
        WebhookCaller& caller;
        ConversionMetrics& metrics;
    };
    /// Requires: the definition has been validated.
    ConversionWebhook(Seams seams, const CustomResourceDefinition& definition);
    Task<std::vector<schema::Value>> convert(std::vector<schema::Value> objects, std::string api_version) override;

private:
    Result<void> check_versions(const std::vector<schema::Value>& objects) const;

    Seams seams_;
    std::string definition_;              ///< its name
    std::set<std::string> api_versions_;  ///< that it has
    std::string review_version_;
    WebhookCaller::ClientConfig client_;
    Semaphore calls_{64};
};

/// Whether a webhook converts the definition's versions.
bool has_conversion_webhook(const CustomResourceDefinition& definition);

}  // namespace porthole::apiserver
