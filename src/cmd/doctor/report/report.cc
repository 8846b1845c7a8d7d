#include "cmd/doctor/report/report.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "schema/value.h"

namespace porthole::cmd::doctor {
namespace {

using schema::Value;

constexpr std::size_t ShownObjects = 5, NumberWidth = 9;

struct Look {
    const char *word, *mark, *color;
};
constexpr std::array<Look, 4> Looks = {
    {{"pass", "✓", "\033[32m"}, {"warn", "!", "\033[33m"}, {"fail", "✗", "\033[31m"}, {"not applicable", "–", "\033[2m"}}};
const Look& look_of(Verdict verdict) { return Looks[static_cast<std::size_t>(verdict)]; }

struct Section {
    std::string_view prefix, title;
};
constexpr Section Sections[] = {
    {"1.1.", "1.1 Control plane files"},
    {"1.2.", "1.2 API server"},
    {"1.3.", "1.3 Controllers"},
    {"1.4.", "1.4 Scheduler"},
    {"2.", "2 Store"},
    {"3.1.", "3.1 Authentication of people"},
    {"3.2.", "3.2 Audit"},
    {"4.1.", "4.1 Files of nodes"},
    {"4.2.", "4.2 Kubelets"},
    {"4.3.", "4.3 Proxies"},
    {"5.1.", "5.1 RBAC and service accounts"},
    {"5.2.", "5.2 Pods"},
    {"5.3.", "5.3 Network"},
    {"5.4.", "5.4 Secrets"},
    {"5.5.", "5.5 Images"},
    {"5.6.", "5.6 General"},
};

std::string_view section_of(const Finding& finding, const ReportStyle& style) {
    const auto found =
        std::ranges::find_if(Sections, [&](const Section& one) { return std::string_view(finding.item.number).starts_with(one.prefix); });
    return found == std::end(Sections) ? style.other : found->title;
}

std::array<int, 4> count(const std::vector<Finding>& findings) {
    std::array<int, 4> counts{};
    for (const Finding& finding : findings) ++counts[static_cast<std::size_t>(finding.verdict)];
    return counts;
}

std::string objects_of(const Finding& finding) {
    std::string text;
    for (std::size_t i = 0; i < std::min(finding.objects.size(), ShownObjects); ++i) text += (i ? ", " : "") + finding.objects[i];
    if (finding.objects.size() > ShownObjects) text += " and " + std::to_string(finding.objects.size() - ShownObjects) + " more";
    return text;
}

std::string lines_of(const Finding& finding, bool color) {
    const Look& look = look_of(finding.verdict);
    std::string number = finding.item.number;
    number.resize(std::max(number.size() + 1, NumberWidth), ' ');
    const std::string indent(NumberWidth + 4, ' ');
    std::string text =
        "  " + (color ? look.color + std::string(look.mark) + "\033[0m" : std::string(look.mark)) + " " + number + finding.item.title;
    if (finding.verdict == Verdict::Pass) return text + (finding.detail.empty() ? "" : " (" + finding.detail + ")") + "\n";
    if (finding.verdict == Verdict::NotApplicable) return text + ": " + finding.detail + "\n";
    text += "\n" + indent + look.word + ": " + finding.detail + (finding.objects.empty() ? "" : ": " + objects_of(finding)) + "\n";
    return text + indent + "remedy: " + finding.remedy + "\n";
}

}  // namespace

bool has_failed(const std::vector<Finding>& findings) {
    return std::ranges::any_of(findings, [](const Finding& finding) { return finding.verdict == Verdict::Fail; });
}

std::string to_text(const std::vector<Finding>& findings, const ReportStyle& style) {
    std::string text;
    std::string_view section;
    for (const Finding& finding : findings) {
        const bool calm = finding.verdict == Verdict::Pass || finding.verdict == Verdict::NotApplicable;
        if (calm && !style.everything) continue;
        if (section_of(finding, style) != section) {
            section = section_of(finding, style);
            text += (text.empty() ? "" : "\n") + std::string(section) + "\n";
        }
        text += lines_of(finding, style.color);
    }
    const auto counts = count(findings);
    text += text.empty() ? "" : "\n";
    for (std::size_t i = 0; i < counts.size(); ++i) text += (i ? ", " : "") + std::to_string(counts[i]) + " " + Looks[i].word;
    return text + "\n";
}

Value to_value(const std::vector<Finding>& findings, std::string_view benchmark) {
    const auto counts = count(findings);
    Value document = Value::object(
        {{"benchmark", std::string(benchmark)},
         {"summary", Value::object({{"pass", counts[0]}, {"warn", counts[1]}, {"fail", counts[2]}, {"notApplicable", counts[3]}})}});
    Value& list = document["findings"] = Value::array();
    for (const Finding& finding : findings) {
        Value objects = Value::array();
        for (const std::string& one : finding.objects) objects.as_array().push_back(one);
        list.as_array().push_back(Value::object({{"item", finding.item.number},
                                                 {"title", finding.item.title},
                                                 {"verdict", look_of(finding.verdict).word},
                                                 {"detail", finding.detail},
                                                 {"remedy", finding.remedy},
                                                 {"objects", std::move(objects)}}));
    }
    return document;
}

}  // namespace porthole::cmd::doctor
