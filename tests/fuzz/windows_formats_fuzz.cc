// What emulated Windows hosts read: documents of programs on them, images, files of Wine.
#include <cctype>

#include "fuzz_target.h"
#include "hns/emulator/faults.h"
#include "hns/wire/host_file.h"
#include "hns/wire/protocol.h"
#include "schema/json/json.h"
#include "winhost/host/iscsi_portal.h"
#include "winhost/images/content/byte_source.h"
#include "winhost/images/content/manifest.h"
#include "winhost/images/content/os_version.h"
#include "winhost/images/content/reference.h"
#include "winhost/images/layers/tar_reader.h"
#include "winhost/images/registry/url.h"
#include "winhost/runtime/windows_path.h"
#include "winhost/template/pe_image.h"
#include "winhost/template/registry_file.h"
#include "winhost/template/wine_files.h"
#include "winhost/tools/pe_imports.h"

using namespace porthole;
using namespace porthole::fuzz;
using namespace porthole::winhost;

FUZZ_TARGET(hns_control_fuzz) {
    using namespace hns::emulator;
    const auto request = parse_control_request(std::string(text));
    if (!request) return;
    Faults faults;
    apply_faults(*request, faults);
    const auto again = parse_control_request(schema::to_json(faults.to_value()));
    expect(again.has_value());
    static_cast<void>(faults.take("HcnCreateEndpoint"));
}

FUZZ_TARGET(host_file_fuzz) {
    using namespace hns::wire;
    const auto file = parse_host_file(std::string(text));
    if (file) expect(parse_host_file(write_host_file(*file)).has_value());
    if (const auto place = parse_host_and_port(std::string(text))) expect(!place->host.empty());
    if (const auto call = parse_call_name(text)) expect(parse_call_name(write_call_name(*call)).has_value());
}

FUZZ_TARGET(tar_fuzz) {
    const auto source = make_unpacking_source(make_text_source(text));
    TarReader reader(*source);
    std::array<char, 4096> buffer;
    for (int entries = 0; entries < 1000; ++entries) {
        const auto entry = reader.next();
        if (!entry || !*entry) return;
        std::uint64_t content = 0;
        for (;;) {
            const auto count = reader.read(buffer);
            if (!count || *count == 0) break;
            content += *count;
        }
        expect(content <= (*entry)->size);
    }
}

FUZZ_TARGET(image_manifest_fuzz) {
    const HostPlatform host{.version = {10, 0, 20348, 1}};
    if (const auto manifest = parse_manifest(text); manifest && manifest->is_index) static_cast<void>(choose_manifest(*manifest, host));
}

FUZZ_TARGET(image_config_fuzz) {
    const HostPlatform host{.version = {10, 0, 20348, 1}};
    if (const auto image = parse_image_config(text)) static_cast<void>(check_platform(image->config, host));
}

FUZZ_TARGET(image_reference_fuzz) {
    const auto reference = Reference::parse(std::string(text));
    if (!reference) return;
    const auto again = Reference::parse(reference->text());
    expect(again && again->text() == reference->text());
    expect(!reference->registry.empty() && !reference->repository.empty() && !reference->wanted().empty());
}

FUZZ_TARGET(registry_url_fuzz) {
    const auto url = Url::parse(std::string(text));
    if (url) expect(Url::parse(url->text()).has_value());
}

FUZZ_TARGET(os_version_fuzz) {
    const auto version = OsVersion::parse(text);
    if (version) expect(OsVersion::parse(version->text()).value() == *version);
}

/// No path leads out of the drive that it names.
FUZZ_TARGET(windows_path_fuzz) {
    const auto path = WindowsPath::parse(text);
    if (!path) return;
    for (const std::string& component : path->components) {
        expect(component != ".." && component.find_first_of("/\\") == component.npos);
    }
    expect(WindowsPath::parse(path->text()).value().text() == path->text());
}

FUZZ_TARGET(registry_file_fuzz) {
    auto file = RegistryFile::parse(text);
    if (!file) return;
    file->set("Software\\A", "name", RegistryFile::quoted("a\"b\\c"));
    const auto again = RegistryFile::parse(file->text());
    expect(again && again->value("software\\a", "NAME") == RegistryFile::quoted("a\"b\\c"));
}

FUZZ_TARGET(pe_image_fuzz) {
    if (const auto stripped = strip_debug_sections(std::string(text))) expect(stripped->size() <= text.size());
    std::string image(text);
    correct_default_control_handler(image);
    limit_stack_clearing(image);
    expect(image.size() == text.size());
}

FUZZ_TARGET(pe_imports_fuzz) {
    for (const std::string& name : PeImage(text).imports()) expect(!name.empty() && name.size() < 260);
}

/// As of a kernelbase.dll of 32 bits.
FUZZ_TARGET(pe_exports_fuzz) {
    const std::string image(text);  // of its own size, so that a sanitizer sees every byte beyond it
    const PeImage dll(image);
    for (const char* name : {"CtrlRoutine", "A", ""}) static_cast<void>(dll.export_address(name));
}

/// Nodes show the version of a Wine root.
FUZZ_TARGET(wine_files_fuzz) {
    const std::string version = version_in(text);
    expect(!version.empty() && version.size() <= 32);
    for (const unsigned char c : version) expect(std::isalnum(c) || c == '.' || c == '-');
    const std::string file(text);  // of its own size, so that a sanitizer sees every byte beyond it
    expect(!is_for_this_machine(file) || file.size() >= ElfHeaderSize);
}

/// A portal in the records of open-iscsi, or of a driver: whatever it is, a text that is made of it is of a machine elsewhere.
FUZZ_TARGET(iscsi_portal_fuzz) {
    const auto portal = parse_portal(std::string(text));
    expect(portal.address.empty() || plain_address(portal.address) == portal.address);
    const auto made = portal_text(portal);
    if (!made) return;
    expect(!made->starts_with("127.") && !made->starts_with("[::1]") && !made->starts_with("169.254.") && !made->starts_with("0."));
    const auto again = parse_portal(*made);
    expect(again.address == portal.address && again.port == portal.port);
}
