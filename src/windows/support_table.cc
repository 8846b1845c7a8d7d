#include "windows/support.h"

namespace porthole::windows {
namespace {

std::string_view text_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::Refused:
            return "refused";
        case Outcome::Ignored:
            return "ignored";
        case Outcome::Advised:
            return "advice";
    }
    return "";
}

}  // namespace

std::string support_table() {
    std::string text =
        "# What Windows makes of a manifest\n\n"
        "Printed from the table in `src/windows`, by which the API server warns and the kubelet on Windows acts. Where `spec.os.name` is\n"
        "`windows`, the API server refuses, as Kubernetes does, what is refused here, all that is ignored below\n"
        "`securityContext`, and `hostUsers`; where the system is only selected, it warns. `containers[*]` stands for init and\n"
        "ephemeral containers too.\n\n"
        "| Field | On Windows | Event | Why |\n|---|---|---|---|\n";
    for (const Rule& rule : rules()) {
        text += "| `" + std::string(rule.field) + "` | " + std::string(text_of(rule.outcome)) + " | ";
        text += (rule.reason.empty() ? "" : "`" + std::string(rule.reason) + "`") + " | " + std::string(rule.words) + " |\n";
    }
    return text;
}

}  // namespace porthole::windows
