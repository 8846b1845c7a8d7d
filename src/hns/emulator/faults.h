#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hns/emulator/model/model.h"
#include "hns/hresult.h"
#include "runtime/event_loop.h"
#include "schema/value.h"

namespace porthole::hns::emulator {

/// The active faults.
struct Faults {
    struct Failure {
        std::string call;  ///< "HcnDeleteLoadBalancer", "HNSCall"; a "*" at its end matches anything
        Hresult code = Hresult::Unexpected;
        std::uint32_t times = 1;
    };
    Duration delay{};                                     ///< before a call is processed
    Duration port_race{};                                 ///< for how long after an attach its switch port is not found by rules
    std::vector<Failure> failures;                        ///< the first that matches a call is used up
    std::map<std::string, std::string> renamed_adapters;  ///< names that programs have to use for an adapter, by its own name

    /// The failure for `call`, if any; counts it down.
    std::optional<Hresult> take(const std::string& call);
    schema::Value to_value() const;
};

/// A control call; every member is optional:
///   {"delayMilliseconds":200, "portRaceMilliseconds":3000,
///    "fail":[{"call":"HcnDelete*","hresult":"0x80070490","times":1}],   replaces the list
///    "clear":true,                                                     ends all faults; processed first
///    "service":"stop" | "start" | "restart", "reboot":true, "loseRules":true, "remakeNetwork":"cbr0",
///    "renameAdapters":{"Ethernet":"Ethernet 2"}}                       replaces the names
struct ControlRequest {
    enum class Service { Leave, Stop, Start, Restart };
    bool clear = false, reboot = false, lose_rules = false;
    Service service = Service::Leave;
    std::string remake_network;
    std::optional<Duration> delay, port_race;
    std::optional<std::vector<Faults::Failure>> failures;
    std::optional<std::map<std::string, std::string>> renamed_adapters;
};
/// Error: BadRequest, naming the member that is wrong or unknown.
Result<ControlRequest> parse_control_request(const std::string& json);
void apply_faults(const ControlRequest& request, Faults& faults);

}  // namespace porthole::hns::emulator
