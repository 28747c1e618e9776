// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
)

// Names is how names of controllers are resolved: by the system's servers, or by those of --dns. Android has no
// /etc/resolv.conf, and a program that is not linked to its C library has no other way to find out its servers.
type Names struct{ Servers []string }

const dnsPort = 53

// resolvConf is where the system's servers are.
const resolvConf = "/etc/resolv.conf"

// Flags registers --dns.
func (n *Names) Flags(flags *flag.FlagSet) {
	Repeated(flags, &n.Servers, "dns", "`ADDR` or ADDR:PORT of a DNS server for the names of controllers (default: "+
		"those of "+resolvConf+", which Android does not have); may be given several times")
}

// Check returns what is wrong with the flag's values.
func (n *Names) Check() error {
	for _, server := range n.Servers {
		if _, err := serverAddress(server); err != nil {
			return fmt.Errorf("--dns %q is neither an IP address nor ADDR:PORT", server)
		}
	}
	return nil
}

func serverAddress(text string) (netip.AddrPort, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(address, dnsPort), nil
	}
	return netip.ParseAddrPort(text)
}

// Use makes this process resolve names by the servers of --dns, if there are any.
func (n *Names) Use() {
	if len(n.Servers) > 0 {
		net.DefaultResolver = n.Resolver()
	}
}

// Resolver asks the servers in turn: the answer of the next one is asked for when the last did not come.
func (n *Names) Resolver() *net.Resolver {
	var asked atomic.Uint64
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			server, err := serverAddress(n.Servers[(asked.Add(1)-1)%uint64(len(n.Servers))])
			if err != nil {
				return nil, err
			}
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, server.String())
		},
	}
}

// Unresolvable returns the first of the addresses HOST:PORT that is a name, if there is neither a server for names nor
// the file that has the system's; empty otherwise.
func (n *Names) Unresolvable(addresses []string) string {
	if _, err := os.Stat(resolvConf); len(n.Servers) > 0 || !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if _, isName := netip.ParseAddr(host); err == nil && isName != nil && host != "localhost" {
			return host
		}
	}
	return ""
}

// UnresolvableAdvice is what to do about a name that Unresolvable returned.
const UnresolvableAdvice = "this system has no " + resolvConf +
	": write the controller's IP address, or name a DNS server with --dns"
