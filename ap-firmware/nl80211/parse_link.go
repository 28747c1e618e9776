// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// linksMax is how many links a multi-link device has at most (IEEE80211_MLD_MAX_NUM_LINKS of the kernel).
const linksMax = 15

// Link is one link of an access point that is a multi-link device (802.11be).
type Link struct {
	ID uint8
	// MAC is the BSSID of the link.
	MAC mac.Address
	Channel
}

// StationLink is one link of a station that is a multi-link device.
type StationLink struct {
	ID uint8
	// MAC is the station's address on the link; zero if the kernel does not say.
	MAC mac.Address
	// Info is what is counted on the link; nil if the kernel does not have that for each. Only the counters, the rates
	// and the signal are set.
	Info *Station
}

// decodeLinks calls decode with the attributes of each link of an NL80211_ATTR_MLO_LINKS, which returns the link's ID.
func decodeLinks(list *netlink.AttributeDecoder, decode func(*netlink.AttributeDecoder) (uint8, error)) error {
	var seen [linksMax]bool
	for list.Next() {
		list.Nested(func(attributes *netlink.AttributeDecoder) error {
			id, err := decode(attributes)
			if err != nil || attributes.Err() != nil {
				return err // The decoder reports its own.
			}
			switch {
			case id >= linksMax:
				return errors.New("a link has no ID, or one that cannot be")
			case seen[id]:
				return fmt.Errorf("link %d is there twice", id)
			}
			seen[id] = true
			return nil
		})
	}
	return nil
}

// decodeLinks takes the links of an NL80211_CMD_NEW_INTERFACE.
func (i *Interface) decodeLinks(list *netlink.AttributeDecoder) error {
	i.Links = nil
	err := decodeLinks(list, func(attributes *netlink.AttributeDecoder) (uint8, error) {
		link := Link{ID: linksMax}
		var channel channelAttributes
		for attributes.Next() {
			switch attributes.Type() {
			case unix.NL80211_ATTR_MLO_LINK_ID:
				link.ID = attributes.Uint8()
			case unix.NL80211_ATTR_MAC:
				attributes.Do(decodeMAC(&link.MAC))
			default:
				channel.decode(attributes)
			}
		}
		var err error
		link.Channel, err = channel.channel()
		i.Links = append(i.Links, link)
		return link.ID, err
	})
	slices.SortFunc(i.Links, func(x, y Link) int { return cmp.Compare(x.ID, y.ID) })
	return err
}

// decodeLinks takes the links of an NL80211_CMD_NEW_STATION, which kernels send from 6.17 on.
func (s *Station) decodeLinks(list *netlink.AttributeDecoder) error {
	s.Links = nil
	err := decodeLinks(list, func(attributes *netlink.AttributeDecoder) (uint8, error) {
		link := StationLink{ID: linksMax}
		for attributes.Next() {
			switch attributes.Type() {
			case unix.NL80211_ATTR_MLO_LINK_ID:
				link.ID = attributes.Uint8()
			case unix.NL80211_ATTR_MAC:
				attributes.Do(decodeMAC(&link.MAC))
			case unix.NL80211_ATTR_STA_INFO:
				link.Info = &Station{}
				attributes.Nested(func(info *netlink.AttributeDecoder) error {
					link.Info.decode(info)
					return nil
				})
			}
		}
		s.Links = append(s.Links, link)
		return link.ID, nil
	})
	slices.SortFunc(s.Links, func(x, y StationLink) int { return cmp.Compare(x.ID, y.ID) })
	return err
}

// sumLinks makes the station's counters of those of its links, for a kernel that has them for each link alone. Rates
// and signal are those of the link that carried most.
func (s *Station) sumLinks() {
	var most uint64
	first := true
	for _, each := range s.Links {
		link := each.Info
		if link == nil {
			continue
		}
		s.RXBytes += link.RXBytes
		s.TXBytes += link.TXBytes
		s.RXPackets += link.RXPackets
		s.TXPackets += link.TXPackets
		s.TXRetries += link.TXRetries
		s.TXFailed += link.TXFailed
		s.CountsTIDs = s.CountsTIDs || link.CountsTIDs
		s.RXVideo += link.RXVideo
		s.RXVoice += link.RXVoice
		addUS(&s.RXAirtimeUS, link.RXAirtimeUS)
		addUS(&s.TXAirtimeUS, link.TXAirtimeUS)
		s.ConnectedSeconds = max(s.ConnectedSeconds, link.ConnectedSeconds)
		if carried := link.RXBytes + link.TXBytes; first || carried > most {
			first, most = false, carried
			s.RXBitrate, s.TXBitrate, s.SignalDBM = link.RXBitrate, link.TXBitrate, link.SignalDBM
		}
	}
}

func addUS(sum **uint64, us *uint64) {
	switch {
	case us == nil:
	case *sum == nil:
		*sum = new(*us)
	default:
		**sum += *us
	}
}
