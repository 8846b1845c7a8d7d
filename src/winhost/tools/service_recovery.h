#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::winhost {

/// A service manager's actions when a service fails, from the registry value `FailureActions` of its key: a SERVICE_FAILURE_ACTIONS whose
/// pointers are 4 bytes each and unused, and after it the actions as pairs of 4-byte numbers.
struct RecoveryPlan {
    enum class Action : std::uint32_t { None, Restart, Reboot, RunCommand };
    struct Step {
        Action action = Action::None;
        std::uint32_t delay_ms = 0;
    };
    std::uint32_t reset_seconds = 0;  ///< after this time without a failure, counting restarts; the greatest number: never
    std::vector<Step> steps;          ///< of the first failure, the second ...; the last one also of all later ones
    bool reported_failures = false;   ///< also if the service itself reports that it has ended with an error

    /// nullopt for a value of another form.
    static std::optional<RecoveryPlan> parse(std::string_view value) {
        constexpr std::size_t Header = 20, StepSize = 8;
        const auto number = [value](std::size_t at) {
            std::uint32_t result = 0;
            std::memcpy(&result, value.data() + at, sizeof result);
            return result;
        };
        if (value.size() < Header) return std::nullopt;
        RecoveryPlan plan;
        plan.reset_seconds = number(0);
        const std::size_t count = number(12);
        if (count > (value.size() - Header) / StepSize) return std::nullopt;
        for (std::size_t i = 0; i < count; ++i)
            plan.steps.push_back({static_cast<Action>(number(Header + i * StepSize)), number(Header + i * StepSize + 4)});
        return plan;
    }
};

/// How often each service has failed.
class FailureCounter {
public:
    /// The action after a failure of the service.
    RecoveryPlan::Step failed(const std::wstring& service, const RecoveryPlan& plan, std::uint64_t now_ms) {
        if (plan.steps.empty()) return {};
        Failures& failures = failures_[service];
        const bool forgotten = plan.reset_seconds != Never && now_ms - failures.last_ms > std::uint64_t{plan.reset_seconds} * 1000;
        failures.count = forgotten ? 1 : failures.count + 1;
        failures.last_ms = now_ms;
        return plan.steps[failures.count < plan.steps.size() ? failures.count - 1 : plan.steps.size() - 1];
    }

private:
    static constexpr std::uint32_t Never = 0xFFFFFFFF;
    struct Failures {
        std::size_t count = 0;
        std::uint64_t last_ms = 0;
    };
    std::map<std::wstring, Failures> failures_;
};

}  // namespace porthole::winhost
