// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"

	"github.com/airbound/airbound/internal/controllerclient"
)

// RunStream is controllerclient.Run with the certificate of a device, which is enrolled first if it is not. Without a
// device the stream is plain text.
func RunStream[Req, Resp any](
	ctx context.Context, device *Device, cfg controllerclient.Config, stream controllerclient.Stream[Req, Resp],
) error {
	return RunStreams(ctx, device, func(ctx context.Context) error {
		return ConnectStream(ctx, device, cfg, stream)
	})
}

// RunStreams is Device.Run for several streams with one certificate, each of which ConnectStream runs. Without a device
// they are plain text.
func RunStreams(ctx context.Context, device *Device, streams func(context.Context) error) error {
	if device == nil {
		return streams(ctx)
	}
	return device.Run(ctx, streams)
}

// ConnectStream is controllerclient.Run with the certificate of a device that is enrolled. Several may run at once,
// within the same RunStreams.
func ConnectStream[Req, Resp any](
	ctx context.Context, device *Device, cfg controllerclient.Config, stream controllerclient.Stream[Req, Resp],
) error {
	if device == nil {
		return controllerclient.Run(ctx, cfg, stream)
	}
	replaced := device.subscribe()
	defer device.unsubscribe(replaced)
	cfg.TLS, cfg.Replace = device.TLS(), replaced
	cfg.Hopeless = device.ended
	cfg.Denied = func(err error) { device.record(connecting, answered(err, nil)) }
	return controllerclient.Run(ctx, cfg, stream)
}

// subscribe returns a channel that receives when a connection with an earlier certificate is to be replaced.
func (d *Device) subscribe() chan struct{} {
	replaced := make(chan struct{}, 1)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.replaced[replaced] = struct{}{}
	return replaced
}

func (d *Device) unsubscribe(replaced chan struct{}) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.replaced, replaced)
}
