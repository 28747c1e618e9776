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
	if device == nil {
		return controllerclient.Run(ctx, cfg, stream)
	}
	return device.Run(ctx, func(ctx context.Context) error {
		cfg.TLS, cfg.Replace = device.TLS(), device.replaced
		cfg.Hopeless = device.ended
		cfg.Denied = func(err error) { device.record(connecting, answered(err)) }
		return controllerclient.Run(ctx, cfg, stream)
	})
}
