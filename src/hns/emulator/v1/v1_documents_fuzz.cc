// What old scripts and plugins send through HNSCall, and what our own client makes of any service's answer.
#include <cstdint>
#include <cstdlib>

#include "hns/client_v1.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

using namespace porthole;
using namespace porthole::hns;

namespace {

/// Answers everything with the same text.
class EchoingService final : public Hns {
public:
    explicit EchoingService(std::string text) : text_(std::move(text)) {}
    Task<std::string> enumerate(ObjectKind, std::string) override { co_return text_; }
    Task<std::string> create(ObjectKind, std::string, std::string) override { co_return text_; }
    Task<std::string> query(ObjectKind, std::string, std::string) override { co_return text_; }
    Task<> modify(ObjectKind, std::string, std::string) override { co_return {}; }
    Task<> remove(ObjectKind, std::string) override { co_return {}; }
    Task<std::string> call_v1(std::string, std::string, std::string) override { co_return text_; }
    Task<> subscribe(std::function<void(const Notification&)>) override { co_return {}; }

private:
    std::string text_;
};

void read_answers(sim::SimLoop& loop, const std::string& text) {
    EchoingService service(text);
    ClientV1 client(service);
    static_cast<void>(sim::run(loop, client.version()));
    static_cast<void>(sim::run(loop, client.networks()));
    static_cast<void>(sim::run(loop, client.endpoint("x")));
    static_cast<void>(sim::run(loop, client.policy_lists()));
    static_cast<void>(sim::run(loop, client.remove_network("x")));
}

/// The answer, which is always a document that says whether the call has succeeded.
schema::Value call(sim::SimLoop& loop, emulator::Emulator& service, const std::string& method, const std::string& path,
                   const std::string& body) {
    const auto answer = sim::run(loop, service.call_v1(method, path, body));
    if (!answer) return {};
    auto document = schema::parse_json(*answer);
    if (!document || !document->find("Success")) std::abort();
    return *std::move(document);
}

}  // namespace

/// The input is one call a line: its first word is the method, the second the path, the rest the body; "%" in it stands for the id
/// of what was made last.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    sim::SimLoop loop;
    read_answers(loop, std::string(rest));
    sim::MemoryFileSystem files(loop);
    SeededRandom random(7);
    emulator::RememberingDataPlane data_plane;
    emulator::Emulator service({loop, files, random, data_plane, Logger(make_null_sink(), "hns")},
                               {.data_dir = "/hns", .profile = *emulator::find_profile("2022")});
    if (!sim::run(loop, service.start())) std::abort();
    std::string last;
    const auto cut = [&](char at) {
        const std::string_view word = rest.substr(0, rest.find(at));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        std::string text(word);
        for (std::size_t mark; !last.empty() && (mark = text.find('%')) != text.npos;) text.replace(mark, 1, last);
        return text;
    };
    for (int calls = 0; !rest.empty() && calls < 16; ++calls) {
        const std::string method = cut(' '), path = cut(' '), body = cut('\n');
        const schema::Value made = call(loop, service, method, path, body);
        if (const auto id = made.string_at({"Output", "ID"}); !id.empty()) last = id;
    }
    loop.advance(std::chrono::seconds(3));
    if (!sim::run(loop, service.close())) std::abort();
    loop.advance(std::chrono::seconds(1));
    return 0;
}
