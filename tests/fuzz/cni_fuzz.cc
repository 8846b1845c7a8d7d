// What runtimes, other plugins and other nodes' daemons say to a CNI plugin: environment and standard input, results, subnet.env.
#include <cstdint>
#include <cstdlib>

#include "cni/flannel/network_config.h"
#include "cni/flannel/subnet_file.h"
#include "cni/plugin/flannel/delegated_config.h"
#include "cni/plugin/hns/net_conf.h"
#include "cni/plugin/hns/wincni.h"
#include "cni/plugin/host_local/range_set.h"
#include "cni/plugin/plugin.h"
#include "schema/json/json.h"

using namespace porthole;
using namespace porthole::cni;

namespace {

void result(const schema::Value& document) {
    static_cast<void>(read_dns(document));
    const auto read = read_result(document);
    if (!read) return;
    for (const std::string& version : supported_versions()) {
        const schema::Value written = to_value(*read, version);
        if (!read_result(written)) std::abort();
    }
}

void configuration(const CniRequest& request, std::string_view rest) {
    static_cast<void>(read_windows_net_conf(request));
    static_cast<void>(plan_wincni_network(request));
    static_cast<void>(valid_attachments(request));
    static_cast<void>(with_reserved_gateways(request.config));
    if (const schema::Value* ipam = request.config.find("ipam")) {
        const auto sets = read_range_sets(*ipam, {});
        if (sets && !sets->empty()) static_cast<void>(next_address(sets->front(), std::nullopt));
    }
    flannel::SubnetFile subnet;
    if (auto parsed = flannel::parse_subnet_file(rest)) subnet = *parsed;
    for (const DelegateStyle style : {DelegateStyle::Linux, DelegateStyle::Windows})
        static_cast<void>(delegated_config(request, subnet, style));
}

void files(std::string_view text) {
    static_cast<void>(flannel::parse_network_config(text));
    const auto file = flannel::parse_subnet_file(text);
    if (!file) return;
    const auto again = flannel::parse_subnet_file(flannel::to_text(*file));
    if (!again || !(*again == *file)) std::abort();
}

}  // namespace

/// The input is CNI_ARGS up to the first line break, and the configuration behind it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    files(text);
    if (const auto document = schema::parse_json(text)) result(*document);
    const auto line = text.find('\n');
    if (line == std::string_view::npos) return 0;
    const std::map<std::string, std::string> environment{{"CNI_COMMAND", "ADD"},
                                                         {"CNI_CONTAINERID", "abc"},
                                                         {"CNI_NETNS", "4b5e"},
                                                         {"CNI_IFNAME", "eth0"},
                                                         {"CNI_ARGS", std::string(text.substr(0, line))}};
    if (const auto request = read_request(environment, text.substr(line + 1), ';')) configuration(*request, text);
    return 0;
}
