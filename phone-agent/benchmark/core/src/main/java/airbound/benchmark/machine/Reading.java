// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.machine;

/** What a machine's sensors showed at one moment. A value that they do not have is null. */
public final class Reading {
  /** When, in ns of a clock that never goes back. */
  public final long timeNs;

  /** The fastest processor's frequency now. */
  public final Long frequencyKhz;

  /** The hottest of all sensors. */
  public final Double temperatureCelsius;

  /** How often a processor was slowed down because of its temperature, since the start. */
  public final Long throttleEvents;

  /** Android's thermal status: 0 none, 1 light, 2 moderate, up to 6. */
  public final Integer thermalStatus;

  /** Whether the screen is on. */
  public final Boolean screenOn;

  /** Processor time of other programs since the start, of all processors together. */
  public final Long othersNs;

  /** Processor time that a hypervisor gave to others, since the start. */
  public final Long stolenNs;

  private Reading(Builder builder) {
    timeNs = builder.timeNs;
    frequencyKhz = builder.frequencyKhz;
    temperatureCelsius = builder.temperatureCelsius;
    throttleEvents = builder.throttleEvents;
    thermalStatus = builder.thermalStatus;
    screenOn = builder.screenOn;
    othersNs = builder.othersNs;
    stolenNs = builder.stolenNs;
  }

  /** A reading that is being made. */
  public static final class Builder {
    private final long timeNs;
    private Long frequencyKhz;
    private Double temperatureCelsius;
    private Long throttleEvents;
    private Integer thermalStatus;
    private Boolean screenOn;
    private Long othersNs;
    private Long stolenNs;

    public Builder(long timeNs) {
      this.timeNs = timeNs;
    }

    public Builder frequencyKhz(Long value) {
      frequencyKhz = value;
      return this;
    }

    public Builder temperatureCelsius(Double value) {
      temperatureCelsius = value;
      return this;
    }

    public Builder throttleEvents(Long value) {
      throttleEvents = value;
      return this;
    }

    public Builder thermalStatus(Integer value) {
      thermalStatus = value;
      return this;
    }

    public Builder screenOn(Boolean value) {
      screenOn = value;
      return this;
    }

    public Builder othersNs(Long value) {
      othersNs = value;
      return this;
    }

    public Builder stolenNs(Long value) {
      stolenNs = value;
      return this;
    }

    public Reading build() {
      return new Reading(this);
    }
  }
}
