#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "apiserver/admission/labelled_durations.h"

namespace porthole::apiserver {

/// One call of an admission webhook, for its metrics.
struct WebhookCall {
    std::string name;       ///< of the webhook
    std::string type;       ///< "admit" or "validating"
    std::string operation;  ///< "CREATE", ...
    Duration taken{};
    int code = 0;  ///< of the webhook's answer; 600 and above as 600, 0 if there was none
    bool rejected = false;
    std::string error_type;  ///< of a rejection: "calling_webhook_error", "apiserver_internal_error" or "no_error"
    int rejection_code = 0;  ///< of a rejection
    bool failed_open = false;
};

/// Counts of calls to admission webhooks under upstream's names. Beyond `MostNames` webhooks, which configurations can create at any rate,
/// further ones are counted together under the name "".
class AdmissionWebhookMetrics {
public:
    static constexpr std::size_t MostNames = 1024;

    void add(WebhookCall call);
    void append(std::string& out) const;

private:
    static constexpr std::array<double, 8> Buckets{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25};
    using Counts = std::map<std::string, std::uint64_t>;  // by label text

    std::set<std::string> names_;
    Counts requests_, rejections_, failed_open_;
    LabelledDurations<Buckets> durations_;
};

}  // namespace porthole::apiserver
