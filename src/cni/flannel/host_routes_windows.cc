// Windows' headers need this order.
#include <winsock2.h>

#include <ws2ipdef.h>

#include <iphlpapi.h>

#include <netioapi.h>
#undef interface  // a word that sources compiled together with this one use

#include <cstring>

#include "cni/flannel/host_routes.h"

namespace porthole::cni::flannel {

namespace {

/// The functions of iphlpapi.dll that not every system has.
struct Functions {
    decltype(&::CreateIpForwardEntry2) create = nullptr;
    decltype(&::DeleteIpForwardEntry2) remove = nullptr;
    decltype(&::GetIpForwardTable2) table = nullptr;
    decltype(&::InitializeIpForwardEntry) initialize = nullptr;
    decltype(&::GetIpInterfaceEntry) get_interface = nullptr;
    decltype(&::SetIpInterfaceEntry) set_interface = nullptr;
    decltype(&::GetUnicastIpAddressTable) addresses = nullptr;
    decltype(&::FreeMibTable) free_table = nullptr;

    bool complete() const { return create && remove && table && initialize && get_interface && set_interface && addresses && free_table; }
};

template <class T>
void resolve(HMODULE module, const char* name, T& function) {
    function = reinterpret_cast<T>(reinterpret_cast<void*>(::GetProcAddress(module, name)));
}

Functions resolve_functions() {
    Functions functions;
    const HMODULE module = ::LoadLibraryW(L"iphlpapi.dll");
    if (!module) return functions;
    resolve(module, "CreateIpForwardEntry2", functions.create);
    resolve(module, "DeleteIpForwardEntry2", functions.remove);
    resolve(module, "GetIpForwardTable2", functions.table);
    resolve(module, "InitializeIpForwardEntry", functions.initialize);
    resolve(module, "GetIpInterfaceEntry", functions.get_interface);
    resolve(module, "SetIpInterfaceEntry", functions.set_interface);
    resolve(module, "GetUnicastIpAddressTable", functions.addresses);
    resolve(module, "FreeMibTable", functions.free_table);
    return functions;
}

SOCKADDR_INET socket_address(const IpAddress& address) {
    SOCKADDR_INET result{};
    result.Ipv4.sin_family = AF_INET;
    std::memcpy(&result.Ipv4.sin_addr, address.bytes().data(), 4);
    return result;
}

IpAddress address_of(const SOCKADDR_INET& address) { return IpAddress::v4(ntohl(address.Ipv4.sin_addr.s_addr)); }

Error failed(const std::string& what, DWORD code) { return Error(Reason::Io, what + ": error " + std::to_string(code)); }

class SystemHostRoutes final : public HostRoutes {
public:
    SystemHostRoutes(Functions functions, IpAddress management, std::uint32_t metric)
        : functions_(functions), management_(management), metric_(metric) {}

    Task<std::vector<HostRoute>> own() override { co_return read(); }

    Task<> add(HostRoute route) override { co_return set(route); }

    Task<> remove(HostRoute route) override { co_return erase(route); }

    Task<> enable_forwarding(std::vector<IpAddress> addresses) override {
        for (const IpAddress& address : addresses) CO_TRY_VOID(forward(address));
        co_return {};
    }

private:
    /// The interface that has the address now: creating a switch renumbers it.
    Result<NET_LUID> interface_of(const IpAddress& address) const {
        MIB_UNICASTIPADDRESS_TABLE* table = nullptr;
        if (const DWORD code = functions_.addresses(AF_INET, &table); code != NO_ERROR) return failed("reading the host's addresses", code);
        Result<NET_LUID> found = Error(Reason::NotFound, "no interface of the host has the address " + address.to_string());
        for (ULONG i = 0; i < table->NumEntries; ++i) {
            if (address_of(table->Table[i].Address) == address) found = table->Table[i].InterfaceLuid;
        }
        functions_.free_table(table);
        return found;
    }

    Result<MIB_IPFORWARD_ROW2> row_of(const HostRoute& route) const {
        TRY(const NET_LUID adapter, interface_of(management_));
        MIB_IPFORWARD_ROW2 row;
        functions_.initialize(&row);
        row.InterfaceLuid = adapter;
        row.DestinationPrefix.Prefix = socket_address(route.destination.base());
        row.DestinationPrefix.PrefixLength = static_cast<UINT8>(route.destination.length());
        row.NextHop = socket_address(route.next_hop);
        row.Metric = metric_;
        row.Protocol = static_cast<NL_ROUTE_PROTOCOL>(MIB_IPPROTO_NETMGMT);
        return row;
    }

    Result<std::vector<HostRoute>> read() const {
        MIB_IPFORWARD_TABLE2* table = nullptr;
        if (const DWORD code = functions_.table(AF_INET, &table); code != NO_ERROR) return failed("reading the host's routes", code);
        std::vector<HostRoute> routes;
        for (ULONG i = 0; i < table->NumEntries; ++i) {
            const MIB_IPFORWARD_ROW2& row = table->Table[i];
            if (row.Metric != metric_ || row.Protocol != static_cast<NL_ROUTE_PROTOCOL>(MIB_IPPROTO_NETMGMT)) continue;
            routes.push_back(
                {IpPrefix(address_of(row.DestinationPrefix.Prefix), row.DestinationPrefix.PrefixLength), address_of(row.NextHop)});
        }
        functions_.free_table(table);
        return routes;
    }

    Result<void> set(const HostRoute& route) const {
        TRY(const MIB_IPFORWARD_ROW2 row, row_of(route));
        const DWORD code = functions_.create(&row);
        if (code != NO_ERROR && code != ERROR_OBJECT_ALREADY_EXISTS)
            return failed("setting the route " + route.destination.to_string() + " via " + route.next_hop.to_string(), code);
        return {};
    }

    Result<void> erase(const HostRoute& route) const {
        TRY(const MIB_IPFORWARD_ROW2 row, row_of(route));
        const DWORD code = functions_.remove(&row);
        if (code != NO_ERROR && code != ERROR_NOT_FOUND) return failed("removing the route " + route.destination.to_string(), code);
        return {};
    }

    Result<void> forward(const IpAddress& address) const {
        TRY(const NET_LUID adapter, interface_of(address));
        MIB_IPINTERFACE_ROW row{};
        row.Family = AF_INET;
        row.InterfaceLuid = adapter;
        if (const DWORD code = functions_.get_interface(&row); code != NO_ERROR) return failed("reading an interface", code);
        row.ForwardingEnabled = TRUE;
        row.SitePrefixLength = 0;  // as read it is refused
        if (const DWORD code = functions_.set_interface(&row); code != NO_ERROR) return failed("enabling forwarding", code);
        return {};
    }

    Functions functions_;
    IpAddress management_;
    std::uint32_t metric_;
};

}  // namespace

std::unique_ptr<HostRoutes> make_system_host_routes(IpAddress management_address, std::uint32_t metric) {
    const Functions functions = resolve_functions();
    if (!functions.complete()) return nullptr;
    return std::make_unique<SystemHostRoutes>(functions, management_address, metric);
}

}  // namespace porthole::cni::flannel
